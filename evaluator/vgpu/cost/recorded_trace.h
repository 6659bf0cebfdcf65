#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/machine/trace.h"

/// The traces of a launch's blocks as the cost model keeps them: compact, so that millions of events fit.
namespace evo::vgpu {

struct RecordedInstruction {
  OpClass op_class = OpClass::nothing;
  std::uint8_t count = 1;
  std::uint32_t line = 0;  ///< Of the CUDA source; 0: unknown.
  MmaForm mma;
  std::uint32_t pending_groups = 0;
  bool first_in_registers = false;
  bool strong = false;
  bool polls = false;
  std::vector<std::uint16_t> reads;
  std::vector<std::uint16_t> writes;
};

/// One issued instruction of one warp.
struct Event {
  std::uint32_t instruction = 0;  ///< Index into RecordedTrace::instructions.
  std::uint16_t wavefronts = 0;   ///< Passes through the shared-memory banks.
  std::uint16_t l2_sectors = 0;   ///< Sectors that come from L2 or go to it.
  std::uint16_t l1_sectors = 0;   ///< Sectors that the block has touched before.
  TracedSpace space = TracedSpace::none;
  std::uint8_t paths = 1;
  std::uint16_t barrier = 0;
  std::uint16_t expected_warps = 0;  ///< 0: not a barrier.
  bool waits = true;                 ///< Of a barrier; of a read in a loop that polls: it ended the wait.
  std::uint32_t action = 0;          ///< One more than the index into RecordedBlock::actions; 0: none.
};

/// An AsyncAction. Its phase is the index into RecordedBlock::phases; 0: none.
struct RecordedAction {
  AsyncAction::Kind kind = AsyncAction::Kind::none;
  std::uint32_t phase = 0;
  std::uint32_t bytes = 0;
  bool global = false;
  std::uint32_t flops = 0;
};

/// A phase of one of the block's mbarriers.
struct RecordedPhase {
  std::uint32_t contributions = 0;  ///< Arrivals and copies of the block that complete it.
  bool copies = false;              ///< Whether copies are among them.
};

struct RecordedBlock {
  std::uint64_t number = 0;
  std::uint32_t warps = 0;
  std::vector<std::vector<Event>> events;  ///< By warp; in the order of issue once the block has ended.
  std::vector<RecordedAction> actions;
  std::vector<RecordedPhase> phases;  ///< The first one stands for none.
  std::uint64_t issued = 0;           ///< Instructions issued.
  std::uint64_t kept = 0;             ///< Instructions kept as events; fewer than issued in a very long block.
  std::uint64_t global_sectors = 0;
  std::uint64_t distinct_sectors = 0;   ///< Of them, apart from what is accessed again.
  std::uint64_t rewritten_sectors = 0;  ///< Distinct ones that are read first and written later.
  std::uint64_t conflicts = 0;          ///< Wavefronts beyond those that the bytes need.
};

struct RecordedTrace {
  /// A block with this many instructions is long: more blocks would only repeat it.
  static constexpr std::uint64_t kLong = 750'000;

  /// The trace of the block of that number; null: it was not traced.
  const RecordedBlock* find(std::uint64_t number) const {
    const auto found = std::ranges::lower_bound(blocks, number, {}, &RecordedBlock::number);
    return found == blocks.end() || found->number != number ? nullptr : &*found;
  }
  bool middle_is_long() const { return !blocks.empty() && blocks[blocks.size() / 2].issued >= kLong; }
  /// The blocks that stand for all: the middle one alone where it is long.
  std::span<const RecordedBlock> representative_blocks() const {
    return middle_is_long() ? std::span(blocks).subspan(blocks.size() / 2, 1) : std::span(blocks);
  }

  std::vector<RecordedInstruction> instructions;
  std::vector<RecordedBlock> blocks;  ///< By number once they have ended.
  std::size_t registers = 0;          ///< Registers that the instructions use, numbered without gaps.
};

}  // namespace evo::vgpu
