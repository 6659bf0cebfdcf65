#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/wait_log.h"

namespace evo::vgpu {

/// What the cost model asks of a launch that has run.
struct TracedLaunch {
  RecordedTrace trace;
  std::vector<BlockWork> work;     ///< Of each block.
  std::unique_ptr<WaitLog> waits;  ///< Null: no block waits for another one.
  double uncertainty = 0;  ///< Half of the 95 % interval of its time on the SMs, relative, or the part untold().
};

/// Where the 95 % interval of a launch's time on the SMs, relative to the time, should end on both sides.
constexpr double kWantedUncertainty = 0.05;

/// Runs a launch like any other, and traces blocks that stand for all of them: first three drawn by `salt`. Once it is
/// known what each block has executed and asked of memory, those run again, from the memory as it was, that are
/// missing: until each stratum has its traces, and the launch's time on `model` is known well enough, or as well as a
/// bound on the traces allows. A block that then executes or asks something else makes the launch fail: it is
/// unrepeatable. In the end memory is as after the first time.
///
/// `written`: what the launch may change. Under an observer nothing runs again. The result means nothing when
/// `launch.failure` is set.
TracedLaunch run_and_trace(Launch& launch, const DeviceModel& model, std::span<const DeviceRange> written,
                           std::uint64_t salt);

/// The same for a model that asks for no results: few blocks run, and these are traced. The first ones are drawn by
/// `salt`, and more as long as they are cheap beside those. A block that has not run counts as the one before it that
/// has. Where blocks share counters, each runs as if all of lower numbers had come before. A kernel whose blocks wait
/// for each other runs as a whole.
TracedLaunch trace_few(Launch& launch, const DeviceModel& model, std::span<const DeviceRange> written,
                       std::uint64_t salt);

}  // namespace evo::vgpu
