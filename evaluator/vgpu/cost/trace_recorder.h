#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/block_demand.h"

namespace evo::vgpu {

/// Records the traced blocks of one launch.
class TraceRecorder : public Tracer {
 public:
  void begin_block(const TracedBlock& block) override;
  void go_on_with(std::uint64_t number) override { current_ = &under_way_.at(number); }
  void issue(const TracedInstruction& instruction, const Issue& issue) override;
  void end_block() override;

  const RecordedTrace& trace() const { return trace_; }

 private:
  /// What a warp has issued since its last poll of memory.
  struct Round {
    std::uint64_t issued = 0;
    std::uint64_t kept = 0;
    std::uint64_t global_sectors = 0;
    std::uint64_t conflicts = 0;
    const TracedInstruction* look = nullptr;  ///< The latest read of a loop that polls,
    std::size_t look_at = 0;                  ///< which event it is,
    bool again = false;                       ///< and whether the warp has gone round since.
  };
  struct BlockUnderWay {
    RecordedBlock recorded;
    std::unordered_set<std::uint64_t> kept_results;           ///< Warps and instructions.
    std::unordered_map<std::uint64_t, std::uint32_t> phases;  ///< AsyncAction::phase to RecordedBlock::phases.
    L1Sectors l1;
    std::unordered_set<std::uint64_t> read, written;  ///< Sectors of global memory that it has, at any time.
    std::vector<Round> rounds;                        ///< By warp.
  };

  std::uint32_t keep(const AsyncAction& action);
  void count_memory(const MemoryAccess& memory, OpClass op_class, Event& event, Round& round);
  void count_sectors(const MemoryAccess& memory, OpClass op_class);
  void end_round(std::uint32_t warp, Poll poll);
  RecordedInstruction recorded(const TracedInstruction& instruction, bool again);

  RecordedTrace trace_;
  std::unordered_map<std::uint16_t, std::uint16_t> registers_;  ///< The kernel's register numbers to the trace's.
  /// 2 * TracedInstruction::index, plus 1 for an instruction whose results are kept, to RecordedTrace::instructions.
  std::unordered_map<std::uint32_t, std::uint32_t> by_index_;
  std::unordered_map<std::uint64_t, BlockUnderWay> under_way_;  ///< By number.
  BlockUnderWay* current_ = nullptr;
};

}  // namespace evo::vgpu
