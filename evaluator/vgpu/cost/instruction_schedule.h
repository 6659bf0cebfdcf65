#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "evaluator/vgpu/cost/recorded_trace.h"

/// An estimate of how ptxas orders straight-line code: an instruction whose operands are ready goes ahead of those that
/// would wait, unless it would go so far ahead that registers run out.
namespace evo::vgpu {

/// Orders the events of warps. A stretch of code that repeats, as in a loop, is ordered once.
class InstructionScheduler {
 public:
  explicit InstructionScheduler(const std::vector<RecordedInstruction>& instructions) : instructions_(instructions) {}

  /// Puts one warp's events from program order into the order of issue.
  void schedule(std::vector<Event>& events);

 private:
  void schedule_stretch(std::span<Event> stretch);
  std::vector<std::uint32_t> order_of(std::span<const Event> stretch) const;

  const std::vector<RecordedInstruction>& instructions_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known_;  ///< Orders by hash of the instructions.
  std::vector<Event> moved_;
};

}  // namespace evo::vgpu
