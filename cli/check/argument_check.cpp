#include "cli/check/argument_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "evaluator/numbers/elements.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kPointerBytes = 8;
constexpr std::uint64_t kTensorMapBytes = 128;

std::uint64_t bytes_of_argument(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::tensor:
    case Argument::Kind::workspace:
      return kPointerBytes;
    case Argument::Kind::tensor_map:
      return kTensorMapBytes;
    case Argument::Kind::value:
      return bytes_of(argument.fields).size();
  }
  return 0;
}

std::string argument_text(const Argument& argument, const Plan& plan) {
  switch (argument.kind) {
    case Argument::Kind::tensor:
      return fmt::format("tensor {}, a pointer", plan.tensors.at(argument.index).name);
    case Argument::Kind::workspace:
      return fmt::format("workspace {}, a pointer", plan.workspaces.at(argument.index).name);
    case Argument::Kind::tensor_map:
      return fmt::format("tensor map {}", plan.tensor_maps.at(argument.index).name);
    case Argument::Kind::value:
      break;
  }
  if (argument.fields.size() != 1) return "a struct";
  const Scalar& scalar = argument.fields.front();
  std::string text = scalar.type.name() + " ";
  for (const Number number : scalar.components) text += (text.back() == ' ' ? "" : ",") + text_of(number);
  return text;
}

std::string parameter_text(const vgpu::ptx::Variable& parameter) {
  const int bits = vgpu::ptx::bits_of(parameter.type);
  if (parameter.bytes * 8 != static_cast<std::uint64_t>(bits)) return "a struct";
  return vgpu::ptx::is_float(parameter.type) ? fmt::format("a floating-point number of {} bits", bits)
                                             : fmt::format("a whole number or pointer of {} bits", bits);
}

/// Only where the PTX knows: a half is a struct of two bytes there.
bool kinds_differ(const Argument& argument, const vgpu::ptx::Variable& parameter) {
  const bool number = parameter.bytes * 8 == static_cast<std::uint64_t>(vgpu::ptx::bits_of(parameter.type));
  if (!number || parameter.bytes < 4) return false;
  const bool takes_float = vgpu::ptx::is_float(parameter.type);
  if (argument.kind != Argument::Kind::value) return takes_float;
  if (argument.fields.size() != 1 || argument.fields.front().type.components != 1) return false;
  return is_floating(argument.fields.front().type.element) != takes_float;
}

}  // namespace

std::vector<std::string> wrong_arguments(const Binary& binary, const Plan& plan, const Launch& launch) {
  std::unique_ptr<vgpu::ptx::Module> module;
  try {
    module = vgpu::ptx::parse(binary.ptx);
  } catch (const vgpu::LoadError&) {
    return {};  // Loading says why.
  }
  const auto found = module->function_index.find(binary.build.ptx_name(launch.kernel));
  if (found == module->function_index.end()) return {};
  const vgpu::ptx::Function& kernel = module->functions[found->second];
  if (kernel.parameter_count != launch.arguments.size()) {
    return {fmt::format("{} takes {} arguments, {} are passed", launch.kernel, kernel.parameter_count,
                        launch.arguments.size())};
  }
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    const vgpu::ptx::Variable& parameter = kernel.variables[kernel.result_count + i];
    const std::uint64_t passed = bytes_of_argument(argument);
    if (passed != parameter.bytes) {
      wrong.push_back(fmt::format("{}: argument {} is {} ({} bytes), the kernel takes {} ({} bytes)", launch.kernel, i,
                                  argument_text(argument, plan), passed, parameter_text(parameter), parameter.bytes));
    } else if (kinds_differ(argument, parameter)) {
      wrong.push_back(fmt::format("{}: argument {} is {}, the kernel takes {}", launch.kernel, i,
                                  argument_text(argument, plan), parameter_text(parameter)));
    }
  }
  return wrong;
}

}  // namespace evo::cli
