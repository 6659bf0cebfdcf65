#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "evaluator/vgpu/cost/cost_model.h"
#include "evaluator/vgpu/cost/trace_recording.h"

/// One SM of a model GPU that runs recorded blocks, clock by clock.
namespace evo::vgpu {

struct SmWork {
  std::uint64_t blocks = 1;  ///< That the SM has to run in all.
  int resident = 1;          ///< At a time.
  bool from_memory = false;  ///< Global loads miss L2.
};

struct SmResult {
  double clocks = 0;                     ///< Until the last block has ended.
  double instructions = 0;               ///< Machine instructions issued.
  std::array<double, kPipes> busy{};     ///< Clocks, averaged over the sub-partitions that have the pipe.
  std::array<double, kStalls> stalls{};  ///< Clocks of warps.
  /// When the first warp began to wait for the launch ahead; nothing: none does.
  std::optional<double> prologue;
  double warp_clocks = 0;  ///< Clocks of resident warps, the denominator of `stalls`.
};

/// Beyond a bound on simulated events the rest is extrapolated from whole blocks. Deterministic.
SmResult simulate_sm(const DeviceModel& model, const TraceRecorder::Recording& recording, const SmWork& work);

}  // namespace evo::vgpu
