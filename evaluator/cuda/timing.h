#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "evaluator/cuda/bound_call.h"
#include "evaluator/cuda/driver.h"
#include "evaluator/cuda/gpu_monitor.h"
#include "evaluator/cuda/write_kernel.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// The means of a timing. All must outlive it.
struct TimingContext {
  const Driver& driver;
  CUstream stream;
  GpuMonitor* monitor = nullptr;    ///< May be null: then no sample is dropped, and clocks are unknown.
  double max_sm_mhz = 0;            ///< The full clock.
  std::function<double()> seconds;  ///< A steady clock.
};

/// Memory written between cold launches: larger than the L2 cache.
struct FlushBuffer {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
};

/// How many calls one graph holds: 20; more where 20 take less than 50 us, because events resolve 0.5 us; fewer where
/// they take more than 4 ms. A multiple of the number of buffer sets, so that each is used equally often.
std::size_t calls_per_graph(double call_us, std::size_t buffer_sets);

/// Time of one call with warm caches. A CUDA graph of calls, which alternate between the sets of buffers, is replayed
/// between two events. A sample is the time of a replay over its number of calls; nothing is subtracted.
Timing time_warm(const TimingContext& context, std::span<const BoundCall> calls, const TimingRequest& request,
                 std::optional<Failure>& failure);

/// Time of one call with cold caches. `flush` is written, so that L2 holds none of the inputs. Then one call runs
/// between two events.
Timing time_cold(const TimingContext& context, std::span<const BoundCall> calls, const FlushBuffer& flush,
                 const TimingRequest& request, std::optional<Failure>& failure);

/// As Device::time_sequences, which says what is returned. `calls`: one for each set of buffers.
std::vector<std::vector<SequenceCost>> time_sequences(const TimingContext& context, std::span<const BoundCall> calls,
                                                      const WriteKernel& write, std::span<const CallSequence> sequences,
                                                      int rounds, std::optional<Failure>& failure);

}  // namespace evo::cuda
