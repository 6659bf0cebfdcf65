#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/launch.h"

namespace evo::vgpu {

/// What the cost model asks of a launch that has run.
struct TracedLaunch {
  RecordedTrace trace;
  std::vector<BlockWork> work;  ///< Of each block.
};

/// Runs a launch like any other, and traces blocks that stand for all of them: first three drawn by `salt`. Once it is
/// known what each block has executed, those run again, from the memory as it was, that are missing: until each stratum
/// has its traces, and the launch's work is known to 5 %. A block that then executes something else makes the launch
/// fail: it is unrepeatable. In the end memory is as after the first time.
///
/// `written`: what the launch may change. Under an observer nothing runs again. The result means nothing when
/// `launch.failure` is set.
TracedLaunch run_and_trace(Launch& launch, std::span<const DeviceRange> written, std::uint64_t salt);

/// The trace of the few blocks that stand for all where no others run: for a model that asks for no results.
TracedLaunch trace_alone(Launch& launch);

}  // namespace evo::vgpu
