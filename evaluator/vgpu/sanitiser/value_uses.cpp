#include "evaluator/vgpu/sanitiser/value_uses.h"

#include <algorithm>
#include <string_view>

namespace evo::vgpu {
namespace {

/// A jump to Instruction::aux0.
bool is_jump(const Kernel& kernel, std::uint32_t code) {
  const std::string_view opcode = kernel.opcode_at(code);
  return kernel.trace.traced[code].op_class == OpClass::branch && (opcode == "bra" || opcode.starts_with("bra."));
}

}  // namespace

ValueUses::ValueUses(const Kernel& kernel) : kernel_(&kernel), read_(kernel.trace.register_count) {
  for (const TracedInstruction& traced : kernel.trace.traced)
    for (const std::uint16_t number : traced.reads) read_[number] = true;
}

bool ValueUses::is_used(std::uint32_t code) const {
  return std::ranges::any_of(kernel_->trace.traced[code].writes, [&](std::uint16_t number) { return read_[number]; });
}

bool ValueUses::polls(std::uint32_t code) {
  const auto [known, fresh] = polls_.try_emplace(code, false);
  if (!fresh) return known->second;
  for (std::uint32_t back = code; back < kernel_->code.size() && !known->second; ++back) {
    const std::uint32_t target = kernel_->code[back].aux0;
    known->second = is_jump(*kernel_, back) && target <= code && polls_in(code, target, back);
  }
  return known->second;
}

/// Whether a branch out of the loop, whose body lies from `begin` to `end`, depends on what `code` loads.
bool ValueUses::polls_in(std::uint32_t code, std::uint32_t begin, std::uint32_t end) const {
  const auto& traced = kernel_->trace.traced;
  std::vector<bool> depends(read_.size());
  for (const std::uint16_t number : traced[code].writes) depends[number] = true;
  const auto any = [](std::span<const std::uint16_t> numbers, const std::vector<bool>& set) {
    return std::ranges::any_of(numbers, [&](std::uint16_t number) { return set[number]; });
  };
  std::vector<bool> changes(read_.size());
  for (std::uint32_t i = begin; i <= end; ++i)
    for (const std::uint16_t number : traced[i].writes) changes[number] = true;
  if (any(traced[code].reads, changes)) return false;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = begin; i <= end; ++i) {
      if (!any(traced[i].reads, depends)) continue;
      const std::uint32_t target = kernel_->code[i].aux0;
      const bool guarded = kernel_->code[i].guard != 0 && depends[traced[i].reads.back()];
      const bool leaves = traced[i].op_class == OpClass::leave || i == end ||
                          (is_jump(*kernel_, i) && (target < begin || target > end));
      if (guarded && leaves) return true;
      for (const std::uint16_t number : traced[i].writes) depends[number] = true;
    }
  }
  return false;
}

}  // namespace evo::vgpu
