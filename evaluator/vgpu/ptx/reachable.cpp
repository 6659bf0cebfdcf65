#include "evaluator/vgpu/ptx/reachable.h"

#include <algorithm>
#include <string_view>

namespace evo::vgpu {
namespace {

const ptx::Function* defined(const ptx::Module& module, std::string_view name) {
  const auto found = module.function_index.find(name);
  if (found == module.function_index.end()) return nullptr;
  const ptx::Function& function = module.functions[found->second];
  return function.defined && !function.entry ? &function : nullptr;
}

}  // namespace

const ptx::Operand* callee_of(const ptx::Statement& call) {
  for (const ptx::Operand& operand : call.operands)
    if (operand.kind != ptx::Operand::Kind::group) return &operand;
  return nullptr;
}

std::vector<const ptx::Function*> address_taken(const ptx::Module& module) {
  std::set<const ptx::Function*> found;
  const auto note = [&](std::string_view name) {
    if (const ptx::Function* function = defined(module, name)) found.insert(function);
  };
  for (const ptx::Variable& variable : module.variables)
    for (const ptx::Variable::Relocation& relocation : variable.relocations) note(relocation.target);
  for (const ptx::Function& function : module.functions)
    for (const ptx::Statement& statement : function.body)
      for (const ptx::Operand& operand : statement.operands)
        if (operand.kind == ptx::Operand::Kind::function && statement.parts[0] != "call") note(operand.name);
  std::vector<const ptx::Function*> result;
  for (const ptx::Function& function : module.functions)
    if (found.contains(&function)) result.push_back(&function);
  return result;
}

std::set<const ptx::Function*> reachable_functions(const ptx::Module& module, const ptx::Function& entry) {
  std::set<const ptx::Function*> found{&entry};
  std::vector<const ptx::Function*> open{&entry};
  const auto reach = [&](const ptx::Function* function) {
    if (function != nullptr && found.insert(function).second) open.push_back(function);
  };
  bool through_pointer = false;
  while (!open.empty()) {
    const ptx::Function& function = *open.back();
    open.pop_back();
    for (const ptx::Statement& statement : function.body) {
      if (statement.parts[0] != "call") continue;
      const ptx::Operand* callee = callee_of(statement);
      if (callee == nullptr) continue;
      if (callee->kind == ptx::Operand::Kind::function) reach(defined(module, callee->name));
      if (callee->kind != ptx::Operand::Kind::reg || through_pointer) continue;
      through_pointer = true;
      for (const ptx::Function* taken : address_taken(module)) reach(taken);
    }
  }
  return found;
}

}  // namespace evo::vgpu
