#include "evaluator/vgpu/cost/trace_recorder.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "evaluator/vgpu/cost/instruction_schedule.h"

namespace evo::vgpu {
namespace {

/// Events kept of one block, about ten times the largest block that is usually searched; later ones only count.
constexpr std::uint64_t kMaxEvents = 4'000'000;

std::uint16_t narrow(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint16_t>::max()));
}

}  // namespace

void TraceRecorder::begin_block(const TracedBlock& block) {
  current_ = &under_way_[block.number];
  *current_ = {};
  RecordedBlock& recorded = current_->recorded;
  recorded.number = block.number;
  recorded.warps = block.warps;
  recorded.events.resize(block.warps);
  recorded.phases.resize(1);
  current_->rounds.resize(block.warps);
}

/// An instruction with its registers renumbered. With `again` its results are there already, so it costs nothing.
RecordedInstruction TraceRecorder::recorded(const TracedInstruction& instruction, bool again) {
  const auto renumbered = [&](std::span<const std::uint16_t> numbers) {
    std::vector<std::uint16_t> ours;
    for (const std::uint16_t number : numbers)
      ours.push_back(registers_.try_emplace(number, static_cast<std::uint16_t>(registers_.size())).first->second);
    return ours;
  };
  RecordedInstruction kept;
  kept.op_class = again ? OpClass::nothing : instruction.op_class;
  kept.count = instruction.count;
  kept.line = instruction.line;
  kept.mma = instruction.mma;
  kept.pending_groups = instruction.pending_groups;
  kept.first_in_registers = instruction.first_in_registers;
  kept.strong = instruction.strong;
  kept.polls = instruction.polls;
  kept.reads = renumbered(instruction.reads);
  kept.writes = renumbered(instruction.writes);
  trace_.registers = registers_.size();
  return kept;
}

/// Keeps an action of an mbarrier or of the copy engine and returns Event::action for it.
std::uint32_t TraceRecorder::keep(const AsyncAction& action) {
  RecordedBlock& block = current_->recorded;
  RecordedAction kept{action.kind, 0, action.bytes, action.global, action.flops};
  if (action.phase != 0) {
    const auto [found, added] =
        current_->phases.try_emplace(action.phase, static_cast<std::uint32_t>(block.phases.size()));
    if (added) block.phases.emplace_back();
    kept.phase = found->second;
    RecordedPhase& phase = block.phases[kept.phase];
    if (action.kind != AsyncAction::Kind::wait) ++phase.contributions;
    phase.copies |= action.kind == AsyncAction::Kind::copy;
  }
  block.actions.push_back(kept);
  return static_cast<std::uint32_t>(block.actions.size());
}

/// What memory must bring and take back: a sector that is read and then written passes twice.
void TraceRecorder::count_sectors(const MemoryAccess& memory, OpClass op_class) {
  auto& [block, kept_results, phases, l1, read, written, rounds] = *current_;
  const bool changes = op_class == OpClass::atomic || op_class == OpClass::reduction;
  const bool writes = changes || op_class == OpClass::store || op_class == OpClass::matrix_store;
  for (const std::uint64_t sector : memory.sectors) {
    if (!writes) {
      block.distinct_sectors += read.insert(sector).second && !written.contains(sector) ? 1 : 0;
    } else if (written.insert(sector).second) {
      const bool was_read = read.contains(sector);
      block.distinct_sectors += was_read ? 0 : 1;
      block.rewritten_sectors += was_read || changes ? 1 : 0;
    }
  }
}

void TraceRecorder::count_memory(const MemoryAccess& memory, OpClass op_class, Event& event, Round& round) {
  RecordedBlock& block = current_->recorded;
  event.space = memory.space;
  event.wavefronts = narrow(memory.wavefronts);
  const std::uint64_t bytes =
      std::uint64_t{memory.bytes_per_lane} * static_cast<std::uint64_t>(std::popcount(memory.lanes));
  const std::uint64_t needed = (bytes + 127) / 128;
  const std::uint64_t conflicts = memory.wavefronts > needed ? memory.wavefronts - needed : 0;
  block.conflicts += conflicts;
  round.conflicts += conflicts;
  const std::size_t known = op_class == OpClass::load ? current_->l1.load(memory.sectors) : 0;
  event.l1_sectors = narrow(known);
  event.l2_sectors = narrow(memory.sectors.size() - known);
  block.global_sectors += memory.sectors.size() - known;
  round.global_sectors += memory.sectors.size() - known;
  if (memory.space == TracedSpace::global && known < memory.sectors.size()) count_sectors(memory, op_class);
}

/// A round in vain is forgotten: how often a warp looks until another has done its part says nothing of a GPU.
void TraceRecorder::end_round(std::uint32_t warp, Poll poll) {
  RecordedBlock& block = current_->recorded;
  Round& round = current_->rounds[warp];
  std::vector<Event>& events = block.events[warp];
  if (poll == Poll::in_vain) {
    events.resize(events.size() - round.kept);
    block.issued -= round.issued;
    block.kept -= round.kept;
    block.global_sectors -= round.global_sectors;
    block.conflicts -= round.conflicts;
  }
  round = {.look = round.look, .look_at = round.look_at, .again = true};
}

void TraceRecorder::issue(const TracedInstruction& instruction, const Issue& issue) {
  RecordedBlock& block = current_->recorded;
  if (issue.warp >= block.events.size()) return;
  Round& round = current_->rounds[issue.warp];
  ++block.issued;
  ++round.issued;
  const bool again =
      instruction.once && !current_->kept_results.insert(std::uint64_t{issue.warp} << 32 | instruction.index).second;
  const auto [found, added] = by_index_.try_emplace(2 * instruction.index + (again ? 1 : 0),
                                                    static_cast<std::uint32_t>(trace_.instructions.size()));
  if (added) trace_.instructions.push_back(recorded(instruction, again));

  Event event;
  event.instruction = found->second;
  event.paths = static_cast<std::uint8_t>(std::min(issue.branch_paths, 32u));
  if (issue.memory != nullptr) count_memory(*issue.memory, instruction.op_class, event, round);
  if (issue.barrier != nullptr) {
    event.barrier = narrow(issue.barrier->id);
    event.expected_warps = narrow(issue.barrier->expected_warps);
    event.waits = issue.barrier->waits;
  }
  if (issue.async != nullptr && issue.async->global) {
    block.global_sectors += issue.async->sectors;  // A loop that polls copies nothing.
    block.distinct_sectors += issue.async->sectors;
  }
  if (instruction.polls && instruction.strong && event.space == TracedSpace::global) {
    std::vector<Event>& events = block.events[issue.warp];
    // What it saw a round before did not end the wait.
    if (std::exchange(round.again, false) && round.look == &instruction && round.look_at < events.size())
      events[round.look_at].waits = false;
    round.look = &instruction;
    round.look_at = events.size();
  }
  if (block.kept < kMaxEvents) {
    if (issue.async != nullptr) event.action = keep(*issue.async);
    ++block.kept;
    ++round.kept;
    block.events[issue.warp].push_back(event);
  }
  if (issue.poll != Poll::none) end_round(issue.warp, issue.poll);
}

void TraceRecorder::end_block() {
  RecordedBlock& block = current_->recorded;
  const std::uint64_t number = block.number;
  InstructionScheduler scheduler(trace_.instructions);
  for (std::vector<Event>& events : block.events) scheduler.schedule(events);
  std::vector<RecordedBlock>& blocks = trace_.blocks;
  const auto behind = std::ranges::lower_bound(blocks, block.number, {}, &RecordedBlock::number);
  if (behind != blocks.end() && behind->number == block.number) {  // It ran again.
    *behind = std::move(block);
  } else {
    blocks.insert(behind, std::move(block));
  }
  under_way_.erase(number);
  current_ = nullptr;
}

}  // namespace evo::vgpu
