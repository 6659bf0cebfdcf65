#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/pipes.h"
#include "evaluator/vgpu/cost/recorded_trace.h"

/// A simulation of one SM that runs recorded blocks.
namespace evo::vgpu {

struct SmWork {
  std::uint64_t blocks = 1;  ///< Blocks that the SM runs in all.
  int resident = 1;          ///< Blocks that it runs at a time.
  bool from_memory = false;  ///< Global loads miss L2.
  /// The traces that stand for those blocks, in the order in which they begin; if there are fewer, again from the
  /// first.
  std::vector<const RecordedBlock*> traces;
};

struct SmResult {
  double clocks = 0;                     ///< Until the last block ends.
  double instructions = 0;               ///< Machine instructions issued.
  std::array<double, kPipes> busy{};     ///< Clocks that a pipe is busy, averaged over its sub-partitions.
  std::array<double, kStalls> stalls{};  ///< Clocks that warps wait, summed over the warps.
  /// When the first warp began to wait for the preceding launch; nothing if no warp does.
  std::optional<double> prologue;
  double warp_clocks = 0;  ///< Clocks of resident warps, the denominator of `stalls`.
};

/// Deterministic. Beyond a bound on simulated events the rest is extrapolated from whole blocks, by the instructions
/// that they issue.
SmResult simulate_sm(const DeviceModel& model, const RecordedTrace& trace, const SmWork& work);

}  // namespace evo::vgpu
