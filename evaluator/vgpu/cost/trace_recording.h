#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "evaluator/vgpu/cost/cost_model.h"

/// Traces as the cost model keeps them: compact, so that millions of events fit.
namespace evo::vgpu {

struct RecordedInstruction {
  OpClass op_class = OpClass::nothing;
  std::uint8_t count = 1;
  MmaForm mma;
  std::uint32_t pending_groups = 0;
  bool first_in_registers = false;
  std::vector<std::uint16_t> reads;
  std::vector<std::uint16_t> writes;
};

/// One issued instruction of one warp.
struct Event {
  std::uint32_t instruction = 0;  ///< Index into Recording::instructions.
  std::uint16_t wavefronts = 0;   ///< Through the shared-memory banks.
  std::uint16_t l2_sectors = 0;   ///< That have to come from (or go to) L2.
  std::uint16_t l1_sectors = 0;   ///< That the block has touched before.
  TracedSpace space = TracedSpace::none;
  std::uint8_t paths = 1;
  std::uint16_t barrier = 0;
  std::uint16_t expected_warps = 0;  ///< 0: not a barrier.
  bool waits = true;
  std::uint32_t action = 0;  ///< One more than the index into RecordedBlock::actions; 0: none.
};

/// AsyncAction with the block's phases numbered from 1 without gaps.
struct RecordedAction {
  AsyncAction::Kind kind = AsyncAction::Kind::none;
  std::uint32_t phase = 0;
  std::uint32_t bytes = 0;
  bool global = false;
};

/// A phase of one of the block's mbarriers.
struct RecordedPhase {
  std::uint32_t contributions = 0;  ///< Arrivals and copies of the block that it awaits.
  bool copies = false;
};

struct RecordedBlock {
  std::uint64_t number = 0;
  std::uint32_t warps = 0;
  std::vector<std::vector<Event>> events;  ///< By warp, in the order of issue once the block has ended.
  std::vector<RecordedAction> actions;
  std::vector<RecordedPhase> phases;  ///< The first stands for none.
  std::uint64_t issued = 0;           ///< All instructions, those beyond the limit included.
  std::uint64_t kept = 0;
  std::uint64_t global_sectors = 0;
  std::uint64_t conflicts = 0;  ///< Wavefronts beyond what the bytes need.
};

struct TraceRecorder::Recording {
  /// Events kept of one block; what comes later only counts. About ten times the largest block that is usually
  /// searched.
  static constexpr std::uint64_t kMaxEvents = 4'000'000;
  /// Instructions of a long block.
  static constexpr std::uint64_t kLong = 750'000;
  /// Sectors remembered as being in L1: 128 KiB.
  static constexpr std::size_t kL1Sectors = 4096;

  /// The blocks that stand for all: the middle one where it is long, so that more would only repeat it; else each.
  std::span<const RecordedBlock> telling() const;
  bool middle_is_long() const;

  std::uint32_t keep(const AsyncAction& action);
  /// The instruction with its registers renumbered: those that the recorded ones use, without gaps.
  RecordedInstruction recorded(const TracedInstruction& instruction, bool again);

  std::vector<RecordedInstruction> instructions;
  std::vector<RecordedBlock> blocks;                           ///< In the order of their numbers, once they have ended.
  std::unordered_map<std::uint16_t, std::uint16_t> registers;  ///< From the kernel's numbers to ours.
  /// Twice TracedInstruction::index, and one more for those whose results are kept, to instructions.
  std::unordered_map<std::uint32_t, std::uint32_t> by_index;
  std::unordered_set<std::uint64_t> kept_results;           ///< Warp and instruction, of the current block.
  std::unordered_map<std::uint64_t, std::uint32_t> phases;  ///< AsyncAction::phase to RecordedBlock::phases.
  std::unordered_set<std::uint64_t> touched;                ///< Sectors that the current block has loaded.
};

}  // namespace evo::vgpu
