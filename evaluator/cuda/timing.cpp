#include "evaluator/cuda/timing.h"

#include <algorithm>
#include <cmath>

#include "evaluator/base/statistics.h"
#include "evaluator/cuda/handles.h"
#include "evaluator/device/stopping.h"

namespace evo::cuda {
namespace {

constexpr std::size_t kDefaultCalls = 20;
constexpr std::size_t kMaxCalls = 1000;
constexpr double kMinReplayUs = 50;
constexpr double kMaxReplayUs = 4000;
/// Untimed repetitions ahead of the samples at least, however long they take.
constexpr int kMinWarmUps = 3;
/// Between two looks at the clocks. A look takes 0.6 ms, and NVML renews what it tells every 100 ms only.
constexpr double kSecondsPerLook = 0.005;
/// After so long a call can be called hopeless. So many samples are then taken of it, and more until they agree so far:
/// a host that is busy elsewhere lengthens a few in a row.
constexpr double kHopelessSeconds = 0.01;
constexpr int kHopelessSamples = 5;
constexpr double kHopelessInterval = 0.05;
/// After so long a call that is not better than the one to beat is warm enough.
constexpr double kBeatenSeconds = 0.02;

/// Puts work into a stream; a failure when the driver refuses it.
using Work = std::function<std::optional<Failure>()>;
/// Takes one sample, in microseconds per call.
using Sampler = std::function<double(std::optional<Failure>&)>;

/// Two events and what lies between them.
class Stopwatch {
 public:
  explicit Stopwatch(const TimingContext& context)
      : context_(context), begin_(make_event(context.driver)), end_(make_event(context.driver)) {}

  /// Microseconds of device time that `work` took; waits for its end.
  double measure_us(const Work& work, std::optional<Failure>& failure) const {
    require(context_.driver, context_.driver.event_record(begin_.get(), context_.stream), "cuEventRecord");
    failure = work();
    if (failure) return 0;
    const CUresult recorded = context_.driver.event_record(end_.get(), context_.stream);
    const CUresult waited = recorded != CUDA_SUCCESS ? recorded : context_.driver.stream_synchronize(context_.stream);
    float milliseconds = 0;
    const CUresult read =
        waited != CUDA_SUCCESS ? waited : context_.driver.event_elapsed(&milliseconds, begin_.get(), end_.get());
    if (read != CUDA_SUCCESS) failure = candidate_failure(context_.driver, read, "while it was timed");
    return milliseconds * 1e3;
  }

 private:
  const TimingContext& context_;
  OwnedEvent begin_;
  OwnedEvent end_;
};

/// What `work` puts into the stream, as one graph.
OwnedGraphExec capture(const TimingContext& context, const Work& work, std::optional<Failure>& failure) {
  const Driver& driver = context.driver;
  require(driver, driver.capture_begin(context.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  failure = work();
  // A capture must be ended even when a launch in it was refused.
  CUgraph captured = nullptr;
  const CUresult ended = driver.capture_end(context.stream, &captured);
  const OwnedGraph graph(driver, captured);
  if (failure) return {};
  CUgraphExec executable = nullptr;
  CUresult result = ended;
  if (result == CUDA_SUCCESS) result = driver.graph_instantiate(&executable, graph.get(), 0);
  if (result != CUDA_SUCCESS) failure = candidate_failure(driver, result, "launches in a CUDA graph");
  return {driver, executable};
}

/// Calls over the sets of buffers in turn, as one graph.
OwnedGraphExec capture(const TimingContext& context, std::span<const BoundCall> calls, std::size_t count,
                       std::optional<Failure>& failure) {
  const Work enqueue = [&]() -> std::optional<Failure> {
    for (std::size_t i = 0; i < count; ++i)
      if (auto refused = calls[i % calls.size()].enqueue(context.stream)) return refused;
    return std::nullopt;
  };
  return capture(context, enqueue, failure);
}

OwnedGraphExec capture(const TimingContext& context, std::span<const BoundCall> calls, const WriteKernel& write,
                       const CallSequence& sequence, std::optional<Failure>& failure) {
  const Work enqueue = [&]() -> std::optional<Failure> {
    for (const CallStep& step : sequence) {
      for (const std::vector<DeviceWrite>& batch : step.writes) write(batch, context.stream);
      if (!step.calls) continue;
      if (auto refused = calls[step.set].enqueue(context.stream)) return refused;
    }
    return std::nullopt;
  };
  return capture(context, enqueue, failure);
}

/// Launches a graph.
Work launching(const TimingContext& context, const OwnedGraphExec& graph) {
  return [&context, &graph]() -> std::optional<Failure> {
    const CUresult result = context.driver.graph_launch(graph.get(), context.stream);
    if (result == CUDA_SUCCESS) return std::nullopt;
    return candidate_failure(context.driver, result, "launching a CUDA graph");
  };
}

void note(Conditions& conditions, const GpuClocks& clocks) {
  const auto lowest = [](std::optional<int>& so_far, int now) {
    if (now > 0) so_far = std::min(so_far.value_or(now), now);
  };
  const auto highest = [](std::optional<int>& so_far, int now) {
    if (now > 0) so_far = std::max(so_far.value_or(now), now);
  };
  lowest(conditions.sm_mhz_low, clocks.sm_mhz);
  highest(conditions.sm_mhz_high, clocks.sm_mhz);
  lowest(conditions.memory_mhz, clocks.memory_mhz);
  conditions.power_limited = conditions.power_limited || clocks.power_limited;
  highest(conditions.temperature_c, clocks.temperature_c);
}

/// False where the call is hopeless. Ends early then, and where the call is not better than the one to beat.
bool warm_up(const TimingContext& context, const TimingRequest& request, const Sampler& sample,
             std::optional<Failure>& failure) {
  const double begin_s = context.seconds();
  double seconds = 0;
  for (int i = 0; !failure && (i < kMinWarmUps || seconds < request.warm_up_seconds); ++i) {
    const double us = sample(failure);
    seconds = context.seconds() - begin_s;
    const auto surely_exceeds = [&](double bound_us, double after_s) {
      return bound_us > 0 && i >= kMinWarmUps && seconds >= after_s && us > bound_us && sample(failure) > bound_us;
    };
    if (surely_exceeds(request.hopeless_us, kHopelessSeconds)) return false;
    if (surely_exceeds(request.to_beat_us, kBeatenSeconds)) return true;
  }
  return true;
}

/// What is taken of a call that ran at the full clock so far, and of one that is hopeless.
TimingRequest shortened(TimingRequest request, bool at_full_clock, bool hopeless) {
  if (at_full_clock) request.min_seconds = std::min(request.min_seconds, request.full_clock_seconds);
  if (hopeless) {
    request.min_samples = kHopelessSamples;
    request.min_seconds = 0;
    request.relative_interval = kHopelessInterval;
  }
  return request;
}

/// Warms up, then takes samples until the criterion is met. In between nothing may take long: a GPU that has rested
/// runs faster than lasts, for 20 to 60 ms.
Timing collect(const TimingContext& context, const TimingRequest& request, const Sampler& sample,
               std::optional<Failure>& failure) {
  ThrottledSamples samples;
  std::size_t unlooked = 0;
  Conditions conditions;
  const auto look = [&] {
    if (context.monitor != nullptr && unlooked > 0) {
      const GpuClocks clocks = context.monitor->clocks();
      if (clocks.throttled) samples.mark_throttled(unlooked);
      note(conditions, clocks);
    }
    unlooked = 0;
  };
  const auto look_for_others = [&] {
    if (context.monitor == nullptr) return;
    conditions.other_processes = std::max(conditions.other_processes, context.monitor->other_processes());
  };
  look_for_others();
  const bool warm = warm_up(context, request, sample, failure);
  if (failure) return {};
  // Throttling up to now does not count.
  const GpuClocks clocks = context.monitor != nullptr ? context.monitor->clocks() : GpuClocks{};
  const bool at_full_clock = !clocks.power_limited && is_full_clock(clocks.sm_mhz, context.max_sm_mhz);
  const TimingRequest wanted = shortened(request, at_full_clock, !warm);
  const StoppingCriterion criterion(wanted);
  const auto minimum = static_cast<std::size_t>(std::max(wanted.min_samples, 1));
  const double begin_s = context.seconds();
  double looked_s = begin_s;
  while (!criterion.finished(samples.unthrottled(), samples.taken(), context.seconds() - begin_s)) {
    const double us = sample(failure);
    if (failure) return {};
    samples.add(us);
    ++unlooked;
    if (context.seconds() - looked_s < kSecondsPerLook) continue;
    look();
    looked_s = context.seconds();
  }
  look();
  look_for_others();

  Timing timing;
  timing.conditions = conditions;
  timing.cold = request.cold;
  timing.samples_us = samples.kept(minimum);
  timing.throttled = static_cast<int>(samples.taken() - timing.samples_us.size());
  const MedianInterval interval = median_interval(timing.samples_us);
  timing.median_us = interval.median;
  timing.low_us = interval.low;
  timing.high_us = interval.high;
  return timing;
}

/// Runs every set of buffers once, which loads the code and meets faults early; microseconds per call.
double run_each(const Stopwatch& stopwatch, const TimingContext& context, std::span<const BoundCall> calls,
                std::optional<Failure>& failure) {
  double call_us = 0;
  for (const BoundCall& call : calls) {
    call_us = stopwatch.measure_us([&] { return call.enqueue(context.stream); }, failure);
    if (failure) return 0;
  }
  return call_us;
}

}  // namespace

std::size_t calls_per_graph(double call_us, std::size_t buffer_sets) {
  double calls = kDefaultCalls;
  if (call_us > 0) {
    if (calls * call_us < kMinReplayUs) calls = std::ceil(kMinReplayUs / call_us);
    if (calls * call_us > kMaxReplayUs) calls = std::max(1.0, std::floor(kMaxReplayUs / call_us));
  }
  const auto count = static_cast<std::size_t>(std::min<double>(calls, kMaxCalls));
  const std::size_t sets = std::max<std::size_t>(buffer_sets, 1);
  return (count + sets - 1) / sets * sets;
}

Timing time_warm(const TimingContext& context, std::span<const BoundCall> calls, const TimingRequest& request,
                 std::optional<Failure>& failure) {
  const Stopwatch stopwatch(context);
  std::size_t count = calls_per_graph(run_each(stopwatch, context, calls, failure), calls.size());
  OwnedGraphExec graph;
  if (!failure) graph = capture(context, calls, count, failure);
  if (failure) return {};
  const Work launch_graph = launching(context, graph);
  const Sampler sample = [&](std::optional<Failure>& failed) {
    return stopwatch.measure_us(launch_graph, failed) / static_cast<double>(count);
  };

  // A single launch takes longer than one among many, so the first guess may have been too low.
  sample(failure);
  const std::size_t wanted = failure ? count : calls_per_graph(sample(failure), calls.size());
  if (!failure && wanted > count) {
    count = wanted;
    graph = capture(context, calls, count, failure);
  }
  return failure ? Timing{} : collect(context, request, sample, failure);
}

Timing time_cold(const TimingContext& context, std::span<const BoundCall> calls, const FlushBuffer& flush,
                 const TimingRequest& request, std::optional<Failure>& failure) {
  const Stopwatch stopwatch(context);
  std::size_t taken = 0;
  const Sampler sample = [&](std::optional<Failure>& failed) {
    // While the GPU writes, the host prepares the launch: its own part is not measured.
    const auto pattern = static_cast<unsigned char>(taken);
    require(context.driver, context.driver.memory_set(flush.address, pattern, flush.bytes, context.stream),
            "flushing L2");
    const BoundCall& call = calls[taken++ % calls.size()];
    return stopwatch.measure_us([&] { return call.enqueue(context.stream); }, failed);
  };
  run_each(stopwatch, context, calls, failure);
  return failure ? Timing{} : collect(context, request, sample, failure);
}

std::vector<std::vector<SequenceCost>> time_sequences(const TimingContext& context, std::span<const BoundCall> calls,
                                                      const WriteKernel& write, std::span<const CallSequence> sequences,
                                                      int rounds, std::optional<Failure>& failure) {
  const Stopwatch stopwatch(context);
  std::vector<OwnedGraphExec> graphs;
  for (const CallSequence& sequence : sequences) {
    graphs.push_back(capture(context, calls, write, sequence, failure));
    // Its first launch loads the graph.
    if (!failure && rounds > 1) stopwatch.measure_us(launching(context, graphs.back()), failure);
    if (failure) return {};
  }
  std::vector<std::vector<SequenceCost>> costs;
  for (int round = 0; round < rounds; ++round) {
    costs.emplace_back(sequences.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::size_t number = (i + static_cast<std::size_t>(rounds - 1 - round)) % sequences.size();
      costs.back()[number].us = stopwatch.measure_us(launching(context, graphs[number]), failure);
      if (failure) return {};
    }
  }
  return costs;
}

}  // namespace evo::cuda
