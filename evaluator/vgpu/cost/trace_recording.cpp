#include "evaluator/vgpu/cost/trace_recording.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "evaluator/vgpu/cost/instruction_schedule.h"

namespace evo::vgpu {
namespace {

std::uint16_t narrow(std::uint64_t value) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint16_t>::max()));
}

bool reads_through_l1(OpClass op_class) {
  return op_class == OpClass::load;
}

}  // namespace

TraceRecorder::TraceRecorder() : recording_(std::make_unique<Recording>()) {}
TraceRecorder::~TraceRecorder() = default;
TraceRecorder::TraceRecorder(TraceRecorder&&) noexcept = default;
TraceRecorder& TraceRecorder::operator=(TraceRecorder&&) noexcept = default;

void TraceRecorder::begin_block(const TracedBlock& block) {
  RecordedBlock& recorded = recording_->blocks.emplace_back();
  recorded.number = block.number;
  recorded.warps = block.warps;
  recorded.events.resize(block.warps);
  recorded.phases.resize(1);
  recording_->touched.clear();
  recording_->phases.clear();
  recording_->kept_results.clear();
}

/// `again`: a warp issues an instruction whose results it has kept.
RecordedInstruction TraceRecorder::Recording::recorded(const TracedInstruction& instruction, bool again) {
  const auto renumbered = [&](std::span<const std::uint16_t> numbers) {
    std::vector<std::uint16_t> ours;
    for (const std::uint16_t number : numbers)
      ours.push_back(registers.try_emplace(number, static_cast<std::uint16_t>(registers.size())).first->second);
    return ours;
  };
  RecordedInstruction kept;
  kept.op_class = again ? OpClass::nothing : instruction.op_class;
  kept.count = instruction.count;
  kept.mma = instruction.mma;
  kept.pending_groups = instruction.pending_groups;
  kept.first_in_registers = instruction.first_in_registers;
  kept.reads = renumbered(instruction.reads);
  kept.writes = renumbered(instruction.writes);
  return kept;
}

/// Keeps what an instruction asks of an mbarrier or of the copy engine; returns the event's number for it.
std::uint32_t TraceRecorder::Recording::keep(const AsyncAction& action) {
  RecordedBlock& block = blocks.back();
  RecordedAction kept{action.kind, 0, action.bytes, action.global};
  if (action.phase != 0) {
    const auto [found, added] = phases.try_emplace(action.phase, static_cast<std::uint32_t>(block.phases.size()));
    if (added) block.phases.emplace_back();
    kept.phase = found->second;
    RecordedPhase& phase = block.phases[kept.phase];
    if (action.kind != AsyncAction::Kind::wait) ++phase.contributions;
    phase.copies |= action.kind == AsyncAction::Kind::copy;
  }
  block.actions.push_back(kept);
  return static_cast<std::uint32_t>(block.actions.size());
}

void TraceRecorder::issue(const TracedInstruction& instruction, const Issue& issue) {
  RecordedBlock& block = recording_->blocks.back();
  ++block.issued;
  const bool again =
      instruction.once && !recording_->kept_results.insert(std::uint64_t{issue.warp} << 32 | instruction.index).second;
  const auto [found, added] = recording_->by_index.try_emplace(
      2 * instruction.index + (again ? 1 : 0), static_cast<std::uint32_t>(recording_->instructions.size()));
  if (added) recording_->instructions.push_back(recording_->recorded(instruction, again));

  Event event;
  event.instruction = found->second;
  event.paths = static_cast<std::uint8_t>(std::min(issue.branch_paths, 32u));
  if (issue.memory != nullptr) {
    const MemoryAccess& memory = *issue.memory;
    event.space = memory.space;
    event.wavefronts = narrow(memory.wavefronts);
    const std::uint64_t bytes =
        std::uint64_t{memory.bytes_per_lane} * static_cast<std::uint64_t>(std::popcount(memory.lanes));
    const std::uint64_t needed = (bytes + 127) / 128;
    if (memory.wavefronts > needed) block.conflicts += memory.wavefronts - needed;
    std::uint64_t known = 0;
    if (reads_through_l1(instruction.op_class)) {
      if (recording_->touched.size() > Recording::kL1Sectors) recording_->touched.clear();
      for (std::uint64_t sector : memory.sectors) known += recording_->touched.insert(sector).second ? 0 : 1;
    }
    event.l1_sectors = narrow(known);
    event.l2_sectors = narrow(memory.sectors.size() - known);
    block.global_sectors += memory.sectors.size() - known;
  }
  if (issue.barrier != nullptr) {
    event.barrier = narrow(issue.barrier->id);
    event.expected_warps = narrow(issue.barrier->expected_warps);
    event.waits = issue.barrier->waits;
  }
  if (issue.async != nullptr && issue.async->global) block.global_sectors += (issue.async->bytes + 31) / 32;
  if (block.kept >= Recording::kMaxEvents || issue.warp >= block.events.size()) return;
  if (issue.async != nullptr) event.action = recording_->keep(*issue.async);
  ++block.kept;
  block.events[issue.warp].push_back(event);
}

void TraceRecorder::end_block() {
  InstructionScheduler scheduler(recording_->instructions);
  std::vector<RecordedBlock>& blocks = recording_->blocks;
  for (std::vector<Event>& events : blocks.back().events) scheduler.schedule(events);
  std::ranges::sort(blocks, {}, &RecordedBlock::number);
}

/// Where only those run that are traced, the middle one comes first.
bool TraceRecorder::has_enough() const {
  return recording_->middle_is_long();
}

bool TraceRecorder::Recording::middle_is_long() const {
  return !blocks.empty() && blocks[blocks.size() / 2].issued >= kLong;
}

std::span<const RecordedBlock> TraceRecorder::Recording::telling() const {
  return middle_is_long() ? std::span(blocks).subspan(blocks.size() / 2, 1) : std::span(blocks);
}

}  // namespace evo::vgpu
