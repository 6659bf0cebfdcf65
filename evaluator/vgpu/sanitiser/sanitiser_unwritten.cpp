#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"

// Values that nobody has written, from the load that finds them to what depends on them. Kernels may load padding and
// throw it away, as merges do that look one element beyond their end: arithmetic only hands such values on, and a
// predicate may leave them out. Everything else reports the load.
namespace evo::vgpu {
namespace {

/// Lane by lane, without effect but for the registers that are written.
bool is_arithmetic(OpClass op_class) {
  return op_class <= OpClass::convert_from_fp8;
}

std::string_view opcode_of(const Kernel& kernel, std::uint32_t code) {
  return kernel.opcodes[kernel.opcode_of[code]];
}

}  // namespace

std::uint32_t WarpWatch::unwritten_lanes(std::span<const std::uint16_t> registers) const {
  std::uint32_t lanes = 0;
  for (const UnwrittenValue& value : unwritten)
    for (const std::uint16_t number : registers)
      if (value.number == number) lanes |= value.lanes;
  return lanes;
}

void WarpWatch::forget_unwritten(std::span<const std::uint16_t> registers, std::uint32_t lanes) {
  for (UnwrittenValue& value : unwritten)
    for (const std::uint16_t number : registers)
      if (value.number == number) value.lanes &= ~lanes;
  std::erase_if(unwritten, [](const UnwrittenValue& value) { return value.lanes == 0; });
}

void Sanitiser::loaded_unwritten(Warp& warp, const Instruction& in, std::uint32_t lanes, std::string what) {
  const TracedInstruction& traced = warp.launch->kernel->trace.traced[warp.launch->kernel->index_of(in)];
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  const auto origin =
      std::make_shared<const UnwrittenLoad>(UnwrittenLoad{&in, std::countr_zero(lanes), std::move(what)});
  for (const std::uint16_t number : traced.writes) mine.unwritten.push_back({number, lanes, origin});
}

namespace {

/// Of the lanes whose sources nobody has written, those whose result does not depend on them.
std::uint32_t left_out(const Warp& warp, const Instruction& in, const TracedInstruction& traced,
                       const WarpWatch& watch) {
  const std::string_view opcode = opcode_of(*warp.launch->kernel, traced.index);
  if (opcode == "and.pred" || opcode == "or.pred") {
    // The predicates are the last two that are read; one whose lanes are written and that decides alone is enough.
    if (traced.reads.size() < 2) return 0;
    const std::uint32_t decides = opcode == "or.pred" ? kAllLanes : 0;
    const auto settled = [&](std::size_t from_end, std::uint32_t operand) {
      const std::uint32_t unknown = watch.unwritten_lanes(traced.reads.subspan(traced.reads.size() - from_end, 1));
      return ~(get_predicate(warp, operand) ^ decides) & ~unknown;
    };
    return settled(2, in.op[1]) | settled(1, in.op[2]);
  }
  if (opcode.starts_with("selp.")) {
    const std::size_t words = traced.writes.size();
    const bool two_registers = (in.op[1] & kConstantBit) == 0 && (in.op[2] & kConstantBit) == 0;
    if (!two_registers || traced.reads.size() < 2 * words + 1) return 0;
    if (watch.unwritten_lanes(traced.reads.last(1)) != 0) return 0;
    const std::uint32_t chosen = get_predicate(warp, in.op[3]);
    const std::uint32_t first = watch.unwritten_lanes(traced.reads.first(words));
    const std::uint32_t second = watch.unwritten_lanes(traced.reads.subspan(words, words));
    return ~((chosen & first) | (~chosen & second));
  }
  return 0;
}

}  // namespace

void Sanitiser::before_instruction(Warp& warp, const Instruction& in, std::uint32_t mask) {
  WarpWatch& mine = block_watch(*warp.block).warps[warp.index];
  if (mine.unwritten.empty()) return;
  const Kernel& kernel = *warp.launch->kernel;
  const TracedInstruction& traced = kernel.trace.traced[kernel.index_of(in)];
  const std::uint32_t read = mine.unwritten_lanes(traced.reads);
  if (read == 0) return mine.forget_unwritten(traced.writes, mask);
  const bool guarded = in.guard != 0;
  std::uint32_t depends = read & mask;
  // The guard is the last operand read. Its value matters for the lanes that it disables, too.
  if (guarded) depends |= mine.unwritten_lanes(traced.reads.last(1)) & warp.active;
  const bool hands_on = is_arithmetic(traced.op_class) && !guarded;
  if (hands_on) depends &= ~left_out(warp, in, traced, mine);
  std::shared_ptr<const UnwrittenLoad> origin;
  for (const UnwrittenValue& value : mine.unwritten)
    for (const std::uint16_t number : traced.reads)
      if (value.number == number && (value.lanes & depends) != 0) origin = value.load;
  if (depends != 0 && !hands_on) {
    if (!reported(FindingKind::uninitialised, warp, *origin->in, kNowhere))
      report(FindingKind::uninitialised, warp, *origin->in, origin->lane, origin->what);
    std::erase_if(mine.unwritten, [&](const UnwrittenValue& value) { return value.load == origin; });
  }
  mine.forget_unwritten(traced.writes, mask);
  if (!hands_on || (depends & mask) == 0) return;
  for (const std::uint16_t number : traced.writes) mine.unwritten.push_back({number, depends & mask, origin});
}

}  // namespace evo::vgpu
