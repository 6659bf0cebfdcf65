#include "evaluator/vgpu/loaded_module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "evaluator/compile/writable_globals.h"
#include "evaluator/vgpu/isa/instruction_set.h"
#include "evaluator/vgpu/isa/target_needs.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"

namespace evo::vgpu {

LoadedModule::LoadedModule(GlobalMemory& memory, std::string ptx, Build build, const DecodeOptions& options)
    : memory_(&memory), build_(std::move(build)) {
  const std::vector<std::string> writable = writable_globals(ptx);
  const std::unique_ptr<ptx::Module> module = ptx::parse(std::move(ptx));
  target_ = module->target;
  require_target(*module);
  try {
    place_variables(*module);
    for (const NamedVariable& variable : variables_)
      if (std::ranges::find(writable, variable.name) == writable.end()) memory_->make_table(variable.address);
    for (const ptx::Function& function : module->functions) {
      if (!function.entry || !function.defined) continue;
      try {
        kernels_[std::string(function.name)] = decode_kernel(*module, function, layout_, find_operation, options);
      } catch (const LoadError& error) {
        refused_[std::string(function.name)] = error.what();
      }
    }
    // Other kernels of the module may still be of use.
    if (kernels_.empty() && !refused_.empty()) throw LoadError(refused_.begin()->second);
  } catch (...) {
    for (const std::uint64_t address : owned_) memory_->free(address);
    throw;
  }
}

LoadedModule::~LoadedModule() {
  for (const std::uint64_t address : owned_) memory_->free(address);
}

const Kernel* LoadedModule::kernel(std::string_view name) const {
  if (const auto refused = refused_.find(name); refused != refused_.end()) throw LoadError(refused->second);
  const auto found = kernels_.find(std::string(name));
  return found == kernels_.end() ? nullptr : found->second.get();
}

std::vector<std::string> LoadedModule::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : kernels_) names.push_back(name);
  for (const auto& [name, why] : refused_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const LoadedModule::NamedVariable* LoadedModule::variable(std::string_view name) const {
  const auto found = std::ranges::find(variables_, name, &NamedVariable::name);
  return found == variables_.end() ? nullptr : &*found;
}

void LoadedModule::place_variables(const ptx::Module& module) {
  for (const ptx::Variable& variable : module.variables) {
    std::uint64_t address = 0;
    if (variable.space == ptx::Space::global || variable.space == ptx::Space::constant) {
      if (variable.unsized)
        throw LoadError("variable '" + std::string(variable.name) + "' is not defined in the module");
      address = variable.managed ? memory_->allocate_shared(variable.bytes, std::string(variable.name))
                                 : memory_->allocate(variable.bytes, std::string(variable.name),
                                                     variable.space == ptx::Space::constant);
      owned_.push_back(address);
      variables_.push_back({std::string(variable.name), address, variable.bytes});
    }
    layout_.address.push_back(address);
  }
  for (std::size_t i = 0; i < module.variables.size(); ++i) {
    if (layout_.address[i] != 0) initialise(module, module.variables[i], layout_.address[i]);
  }
}

void LoadedModule::initialise(const ptx::Module& module, const ptx::Variable& variable, std::uint64_t address) {
  if (variable.bytes == 0) return;
  std::byte* bytes = memory_->at(address, variable.bytes);
  std::memset(bytes, 0, variable.bytes);
  if (!variable.data.empty()) std::memcpy(bytes, variable.data.data(), variable.data.size());
  for (const ptx::Variable::Relocation& relocation : variable.relocations) {
    if (const auto function = module.function_index.find(relocation.target);
        function != module.function_index.end() && relocation.bytes == 8) {
      const std::uint64_t code = function_address(function->second);
      std::memcpy(bytes + relocation.offset, &code, sizeof code);
      continue;
    }
    const auto target = module.variable_index.find(relocation.target);
    if (target == module.variable_index.end() || layout_.address[target->second] == 0 || relocation.bytes != 8) {
      throw LoadError("variable '" + std::string(variable.name) + "' holds the address of '" +
                      std::string(relocation.target) + "': not supported");
    }
    const std::uint64_t value = layout_.address[target->second] + static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(bytes + relocation.offset, &value, sizeof value);
  }
}

}  // namespace evo::vgpu
