#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/wait_log.h"

namespace evo::vgpu {

/// What the cost model asks of a launch that has run.
struct TracedLaunch {
  RecordedTrace trace;
  std::vector<BlockWork> work;     ///< Of each block.
  std::unique_ptr<WaitLog> waits;  ///< Null: no block waits for another one.
};

/// Runs a launch like any other, and traces blocks that stand for all of them: first three drawn by `salt`. Once it is
/// known what each block has executed, those run again, from the memory as it was, that are missing: until each stratum
/// has its traces, and the launch's work is known to 5 %. A block that then executes something else makes the launch
/// fail: it is unrepeatable. In the end memory is as after the first time.
///
/// `written`: what the launch may change. Under an observer nothing runs again. The result means nothing when
/// `launch.failure` is set.
TracedLaunch run_and_trace(Launch& launch, std::span<const DeviceRange> written, std::uint64_t salt);

/// The same for a model that asks for no results: few blocks run, and these are traced. The first ones are drawn by
/// `salt`, and more as long as they are cheap beside those. A block that has not run counts as the one before it that
/// has. A kernel whose blocks wait for each other runs as a whole. Of one whose blocks share counters, and are resident
/// together, a single block stands for all; then `work` is empty.
TracedLaunch trace_few(Launch& launch, std::span<const DeviceRange> written, std::uint64_t salt);

}  // namespace evo::vgpu
