#include <algorithm>

#include "evaluator/vgpu/decode/kernel_builder.h"
#include "evaluator/vgpu/machine/control_transfer.h"

// Loops that wait for what others write to memory.
namespace evo::vgpu {
namespace {

bool names(const std::string& opcode, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(parts, [&](const char* part) { return opcode.find(part) != std::string::npos; });
}

/// Instructions of a loop that may wait even if it does something else as well.
constexpr std::size_t kShortLoop = 64;

/// Accesses of what no other block sees: a block's threads tell each other what one of them has read, and calls have
/// arguments.
bool is_of_block(const std::string& opcode) {
  return names(opcode, {".shared", ".local", ".param"});
}

/// Whether an instruction of the loop may be part of a wait: it changes nothing but registers, or an atomic's word.
bool may_wait(OpClass op_class) {
  switch (op_class) {
    case OpClass::load:
    case OpClass::atomic:  // One that changes memory returns something else in the next round.
    case OpClass::barrier:
    case OpClass::nothing:
    case OpClass::integer:
    case OpClass::integer_multiply:
    case OpClass::bit_search:
    case OpClass::float_fma:
    case OpClass::float_compare:
    case OpClass::convert:
    case OpClass::shuffle:
    case OpClass::vote:
    case OpClass::warp_sync:
    case OpClass::fence:
    case OpClass::special_register:
    case OpClass::sleep:
    case OpClass::leave:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool KernelBuilder::is_strong(const Draft& draft) const {
  const std::string& opcode = kernel_->opcodes[draft.opcode];
  if (draft.op_class == OpClass::atomic || draft.op_class == OpClass::reduction)
    return opcode.starts_with("atom") || opcode.starts_with("red");
  return (draft.op_class == OpClass::load || draft.op_class == OpClass::store) &&
         names(opcode, {".volatile", ".relaxed", ".acquire", ".release", ".mmio"});
}

/// Whether a round asks for what others write meanwhile, and changes nothing that they see.
bool KernelBuilder::only_polls(std::span<const Draft> loop) const {
  const bool only = std::ranges::all_of(loop, [&](const Draft& draft) {
    const std::string& opcode = kernel_->opcodes[draft.opcode];
    const bool returns = opcode.starts_with("ret") && !draft.flow.targets.empty();  // From an inlined function.
    if (draft.op_class == OpClass::branch) return returns || opcode.starts_with("bra");
    if (draft.op_class == OpClass::store) return is_of_block(opcode);
    return !opcode.starts_with("call") && may_wait(draft.op_class);
  });
  return only && std::ranges::any_of(loop, [&](const Draft& draft) { return is_strong(draft); });
}

/// Whether the loop looks again and again at what other blocks may write. One that does something else as well is
/// short, and ends by what it has seen; numbers that it draws do not count.
bool KernelBuilder::awaits_others(std::span<const Draft> loop, bool only_polls) const {
  if (kernel_->independent_blocks || (!only_polls && loop.size() > kShortLoop)) return false;
  const auto looks = [&](const Draft& draft) {
    const std::string& opcode = kernel_->opcodes[draft.opcode];
    const bool reads = draft.op_class == OpClass::load ||
                       (draft.op_class == OpClass::atomic && (only_polls || names(opcode, {".cas", ".exch"})));
    return reads && is_strong(draft) && !names(opcode, {".shared", ".local"});
  };
  if (only_polls) return std::ranges::any_of(loop, looks);
  const auto registers = static_cast<std::uint32_t>(rows_of_.size());
  const auto begin = static_cast<std::size_t>(loop.data() - drafts_.data()), end = begin + loop.size() - 1;
  std::set<std::uint32_t> seen;  // What depends on a look; predicates behind the registers.
  bool told = false;             // Memory of the block does.
  for (const Draft& draft : loop) {
    const std::string& opcode = kernel_->opcodes[draft.opcode];
    const auto uses = std::span(uses_).subspan(draft.first_use, draft.use_count);
    const bool guarded = seen.contains(registers + draft.instruction.guard) && draft.instruction.guard != 0;
    const bool leaves = draft.op_class == OpClass::leave || &draft == &loop.back() ||
                        std::ranges::any_of(draft.flow.targets, [&](auto to) { return to < begin || to > end; });
    if (guarded && leaves) return true;
    const bool depends =
        guarded || looks(draft) || (told && draft.op_class == OpClass::load && is_of_block(opcode)) ||
        std::ranges::any_of(uses, [&](const Use& use) { return !use.write && seen.contains(use.reg); }) ||
        std::ranges::any_of(draft.predicate_reads, [&](auto p) { return seen.contains(registers + p); });
    if (!depends) continue;
    told |= draft.op_class == OpClass::store && is_of_block(opcode);
    for (const Use& use : uses)
      if (use.write) seen.insert(use.reg);
    for (const std::uint32_t p : draft.predicate_writes) seen.insert(registers + p);
  }
  return false;
}

/// Whether no round leaves anything to the next one but what it has read: a register that a round reads before it
/// writes it is written by loads alone, and moved about. So is what it stores.
bool KernelBuilder::only_waits(std::span<const Draft> loop) const {
  const auto registers = static_cast<std::uint32_t>(rows_of_.size());
  std::set<std::uint32_t> known, inherited;  // Written in every round; read before that. Predicates behind the others.
  std::map<std::uint32_t, bool> from_loads;  // What the loop writes.
  std::size_t skipped = 0;                   // Until here an instruction so far may go past others of the loop.
  const auto end = static_cast<std::size_t>(&loop.back() - drafts_.data());
  for (const Draft& draft : loop) {
    if (draft.op_class == OpClass::atomic) return false;
    const auto uses = std::span(uses_).subspan(draft.first_use, draft.use_count);
    const auto reads = [&](std::uint32_t number) {
      if (!known.contains(number)) inherited.insert(number);
    };
    for (const Use& use : uses)
      if (!use.write) reads(use.reg);
    for (const std::uint32_t p : draft.predicate_reads) reads(registers + p);
    if (draft.instruction.guard != 0) reads(registers + draft.instruction.guard);
    if (draft.op_class == OpClass::store)
      for (const Use& use : uses) inherited.insert(use.reg);
    const auto at = static_cast<std::size_t>(&draft - drafts_.data());
    const bool certain = at >= skipped && draft.instruction.guard == 0;
    const bool passes_on = draft.op_class == OpClass::load || (draft.op_class == OpClass::nothing && uses.size() == 2);
    const auto writes = [&](std::uint32_t number, bool loaded) {
      if (certain) known.insert(number);
      from_loads.try_emplace(number, true).first->second &= loaded;
    };
    for (const Use& use : uses)
      if (use.write) writes(use.reg, passes_on);
    for (const std::uint32_t p : draft.predicate_writes) writes(registers + p, false);
    for (const std::uint32_t target : draft.flow.targets)
      if (target <= end) skipped = std::max<std::size_t>(skipped, target);
  }
  return std::ranges::all_of(inherited, [&](std::uint32_t number) {
    const auto written = from_loads.find(number);
    return written == from_loads.end() || written->second;
  });
}

/// Compilers put a copy of the first round's read before the loop.
void KernelBuilder::mark_first_look(std::size_t begin, const Draft& in_loop) {
  constexpr std::size_t kFarthest = 32;
  const auto sources = [&](const Draft& draft) {
    std::vector<std::uint32_t> read;
    for (const Use& use : std::span(uses_).subspan(draft.first_use, draft.use_count))
      if (!use.write) read.push_back(use.reg);
    return read;
  };
  for (std::size_t i = begin; i-- > 0 && begin - i <= kFarthest;) {
    Draft& draft = drafts_[i];
    if (draft.opcode != in_loop.opcode || draft.op_class != OpClass::load) continue;
    if (draft.instruction.immediate != in_loop.instruction.immediate || sources(draft) != sources(in_loop)) continue;
    draft.polls = true;
    return;
  }
}

void KernelBuilder::mark_polls() {
  const auto goes_back = [&](std::size_t i) {
    const Draft& draft = drafts_[i];
    return draft.op_class == OpClass::branch && draft.flow.targets.size() == 1 && draft.flow.targets[0] <= i &&
           kernel_->opcodes[draft.opcode].starts_with("bra");
  };
  for (std::size_t end = 0; end < drafts_.size(); ++end) {
    if (!goes_back(end)) continue;
    const std::size_t begin = drafts_[end].flow.targets[0];
    const std::span<Draft> loop = std::span(drafts_).subspan(begin, end + 1 - begin);
    const bool polls = only_polls(loop);
    kernel_->awaits_blocks |= awaits_others(loop, polls);
    if (!polls) continue;
    const bool waits = only_waits(loop);
    // Warps that meet in a loop leave it in the same round. So all must forget the same ones. What a round stores it
    // must not go on from.
    const auto binds = [](const Draft& one) {
      return one.op_class == OpClass::barrier || one.op_class == OpClass::store;
    };
    if (!waits && std::ranges::any_of(loop, binds)) continue;
    for (std::size_t i = begin; i <= end; ++i) {
      Draft& draft = drafts_[i];
      // Lanes may go round by different branches.
      if (goes_back(i)) draft.instruction.execute = waits ? execute_waiting_branch : execute_polling_branch;
      if (!is_strong(draft) || draft.op_class == OpClass::store) continue;
      draft.polls = true;
      mark_first_look(begin, draft);
    }
  }
}

}  // namespace evo::vgpu
