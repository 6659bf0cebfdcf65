#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "evaluator/cuda/bound_call.h"
#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/gpu_monitor.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// What a timing works with. All must outlive it.
struct TimingContext {
  const Driver& driver;
  CUstream stream;
  GpuMonitor* monitor = nullptr;    ///< May be null: no sample is dropped then, and clocks are unknown.
  std::function<double()> seconds;  ///< A steady clock.
};

/// Memory written between cold launches: larger than the L2 cache.
struct FlushBuffer {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// How many calls one graph holds: 20, more where 20 are done in less than 50 us (the events' resolution is
/// 0.5 us), fewer where they take more than 4 ms, and a multiple of the sets of buffers, so that each is used
/// equally often.
std::size_t calls_per_graph(double call_us, std::size_t buffer_sets);

/// Time of one call, warm: a CUDA graph of calls over the sets of buffers in turn, replayed between two
/// events; each sample is a replay's time divided by its calls, nothing subtracted.
Timing time_warm(const TimingContext& context, std::span<const BoundCall> calls, const TimingRequest& request,
                 std::optional<Failure>& failure);

/// Time of one call, cold: `flush` is written, so that L2 holds none of the inputs, then one call runs
/// between two events.
Timing time_cold(const TimingContext& context, std::span<const BoundCall> calls, const FlushBuffer& flush,
                 const TimingRequest& request, std::optional<Failure>& failure);

}  // namespace evo::cuda
