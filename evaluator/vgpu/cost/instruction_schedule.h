#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/cost/trace_recording.h"

/// The order in which ptxas would put instructions of straight-line code: those whose operands are ready go
/// ahead of those that would wait, as far as registers for what is then under way can be expected.
namespace evo::vgpu {

/// Orders the events of warps. What repeats, as loops do, is worked out once.
class InstructionScheduler {
 public:
  explicit InstructionScheduler(const std::vector<RecordedInstruction>& instructions) : instructions_(instructions) {}

  /// One warp's events, in program order, into the order of issue.
  void schedule(std::vector<Event>& events);

 private:
  void schedule_stretch(std::span<Event> stretch);
  std::vector<std::uint32_t> order_of(std::span<const Event> stretch) const;

  const std::vector<RecordedInstruction>& instructions_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known_;  ///< By hash of the instructions.
  std::vector<Event> moved_;
};

}  // namespace evo::vgpu
