#include "evaluator/vgpu/ptx/independence.h"

#include <algorithm>
#include <string_view>

#include "evaluator/vgpu/ptx/reachable.h"

namespace evo::vgpu {
namespace {

bool has_part(const ptx::Statement& statement, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return std::ranges::count(statement.parts, part) > 0; });
}

bool stays_in_shared_memory(const ptx::Statement& statement) {
  return has_part(statement, {"shared", "shared::cta", "shared::cluster"});
}

bool names_grid_barrier(const ptx::Operand& operand) {
  return operand.name == "%envreg1" || operand.name == "%envreg2" ||
         std::ranges::any_of(operand.elements, names_grid_barrier);
}

bool calls_system(const ptx::Statement& call, const ptx::Module& module) {
  const ptx::Operand* callee = callee_of(call);
  if (callee == nullptr || callee->kind != ptx::Operand::Kind::function) return false;
  const auto found = module.function_index.find(callee->name);
  return found == module.function_index.end() || !module.functions[found->second].defined;
}

bool may_meet_other_blocks(const ptx::Statement& statement, const ptx::Module& module) {
  const std::string_view name = statement.parts[0];
  if (std::ranges::any_of(statement.operands, names_grid_barrier)) return true;
  if (name == "sured") return true;
  if (name == "atom" || name == "red") return !stays_in_shared_memory(statement);
  if (name == "ld" || name == "st")
    return has_part(statement, {"volatile", "relaxed", "acquire", "release", "mmio"}) &&
           !stays_in_shared_memory(statement);
  if (name == "membar") return !has_part(statement, {"cta"});
  if (name == "fence") return has_part(statement, {"gpu", "sys"});
  if (name == "cp") return has_part(statement, {"reduce"}) && has_part(statement, {"global"});
  return name == "call" && calls_system(statement, module);
}

bool draws_number(const ptx::Statement& statement) {
  return statement.parts[0] == "atom" && has_part(statement, {"add"}) &&
         has_part(statement, {"u32", "s32", "u64", "s64"}) && !stays_in_shared_memory(statement);
}

}  // namespace

bool blocks_share_counters(const std::set<const ptx::Function*>& functions) {
  return std::ranges::any_of(
      functions, [](const ptx::Function* function) { return std::ranges::any_of(function->body, draws_number); });
}

bool blocks_are_independent(const std::set<const ptx::Function*>& functions, const ptx::Module& module) {
  return std::ranges::none_of(functions, [&](const ptx::Function* function) {
    return std::ranges::any_of(
        function->body, [&](const ptx::Statement& statement) { return may_meet_other_blocks(statement, module); });
  });
}

}  // namespace evo::vgpu
