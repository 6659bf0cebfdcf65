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

ValueUses::Look ValueUses::look_of(std::uint32_t load) {
  const auto [known, fresh] = looks_.try_emplace(load, Look::once);
  if (!fresh) return known->second;
  for (std::uint32_t back = load; back < kernel_->code.size() && known->second != Look::waits; ++back) {
    const std::uint32_t begin = kernel_->code[back].aux0;
    if (is_jump(*kernel_, back) && begin <= load)
      known->second = waits_in(load, begin, back) ? Look::waits : Look::again;
  }
  return known->second;
}

/// Whether each round of the loop, whose body lies from `begin` to `end`, reads elsewhere: the address depends on what
/// the round before has left.
bool ValueUses::walks_in(std::uint32_t load, std::uint32_t begin, std::uint32_t end) const {
  const auto& traced = kernel_->trace.traced;
  std::vector<bool> changes(read_.size()), fresh(read_.size()), left(read_.size());
  for (std::uint32_t i = begin; i <= end; ++i)
    for (const std::uint16_t number : traced[i].writes) changes[number] = true;
  for (std::uint32_t i = begin; i <= load; ++i) {
    const bool depends = std::ranges::any_of(
        traced[i].reads, [&](std::uint16_t number) { return left[number] || (changes[number] && !fresh[number]); });
    if (i == load) return depends;
    for (const std::uint16_t number : traced[i].writes) {
      left[number] = depends;
      fresh[number] = true;
    }
  }
  return false;
}

/// Whether a branch out of the loop depends on what `load` brings.
bool ValueUses::waits_in(std::uint32_t load, std::uint32_t begin, std::uint32_t end) const {
  if (walks_in(load, begin, end)) return false;
  const auto& traced = kernel_->trace.traced;
  std::vector<bool> depends(read_.size());
  for (const std::uint16_t number : traced[load].writes) depends[number] = true;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = begin; i <= end; ++i) {
      if (std::ranges::none_of(traced[i].reads, [&](std::uint16_t number) { return depends[number]; })) continue;
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
