#include "cli/check/constant_check.h"

#include <algorithm>
#include <memory>
#include <set>

#include "engine/base/demangled.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"

namespace evo::cli {
namespace {

namespace ptx = vgpu::ptx;

void add_variables(const ptx::Operand& operand, std::set<std::uint32_t>& read) {
  if (operand.kind == ptx::Operand::Kind::variable && operand.of_module) read.insert(operand.index);
  for (const ptx::Operand& element : operand.elements) add_variables(element, read);
}

/// The variables of the module that a launched kernel or any function names.
std::set<std::uint32_t> read_variables(const ptx::Module& module, const std::set<std::string>& launched) {
  std::set<std::uint32_t> read;
  for (const ptx::Function& function : module.functions) {
    if (function.entry && !launched.contains(std::string(function.name))) continue;
    for (const auto& statement : function.body)
      for (const ptx::Operand& operand : statement.operands) add_variables(operand, read);
  }
  return read;
}

}  // namespace

std::vector<std::string> unfilled_constants(const Binary& binary, const Plan& plan) {
  std::unique_ptr<ptx::Module> module;
  try {
    module = ptx::parse(binary.ptx);
  } catch (const vgpu::LoadError&) {
    return {};  // Loading says why.
  }
  std::set<std::string> launched, filled;
  for (const Launch& launch : plan.launches) launched.insert(binary.build.ptx_name(launch.kernel));
  for (const Constant& constant : plan.constants) filled.insert(binary.build.variable_name(constant.symbol));
  std::vector<std::string> unfilled;
  for (const std::uint32_t index : read_variables(*module, launched)) {
    const ptx::Variable& variable = module->variables.at(index);
    const bool zero = variable.space == ptx::Space::constant && variable.relocations.empty() &&
                      std::ranges::all_of(variable.data, [](std::uint8_t byte) { return byte == 0; });
    if (zero && !filled.contains(std::string(variable.name))) unfilled.push_back(demangled(variable.name));
  }
  return unfilled;
}

}  // namespace evo::cli
