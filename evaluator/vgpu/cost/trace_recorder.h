#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "evaluator/vgpu/cost/recorded_trace.h"

namespace evo::vgpu {

/// Linear indices of the blocks to trace, ascending: the first, the middle one and the last (which has the tail).
std::vector<std::uint64_t> blocks_to_trace(std::uint64_t blocks);

/// Records the traced blocks of one launch.
class TraceRecorder : public Tracer {
 public:
  void begin_block(const TracedBlock& block) override;
  void issue(const TracedInstruction& instruction, const Issue& issue) override;
  void end_block() override;
  bool has_enough() const override;

  const RecordedTrace& trace() const { return trace_; }

 private:
  std::uint32_t keep(const AsyncAction& action);
  void count_sectors(RecordedBlock& block, const MemoryAccess& memory, OpClass op_class);
  RecordedInstruction recorded(const TracedInstruction& instruction, bool again);

  RecordedTrace trace_;
  std::unordered_map<std::uint16_t, std::uint16_t> registers_;  ///< The kernel's register numbers to the trace's.
  /// 2 * TracedInstruction::index, plus 1 for an instruction whose results are kept, to RecordedTrace::instructions.
  std::unordered_map<std::uint32_t, std::uint32_t> by_index_;
  std::unordered_set<std::uint64_t> kept_results_;           ///< Warps and instructions of the current block.
  std::unordered_map<std::uint64_t, std::uint32_t> phases_;  ///< AsyncAction::phase to RecordedBlock::phases.
  std::unordered_set<std::uint64_t> touched_;                ///< Sectors that the current block has loaded.
  std::unordered_set<std::uint64_t> read_, written_;         ///< Sectors of global memory that it has, at any time.
};

}  // namespace evo::vgpu
