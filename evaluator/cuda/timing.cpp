#include "evaluator/cuda/timing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "evaluator/cuda/handles.h"
#include "evaluator/statistics.h"
#include "evaluator/stopping.h"

namespace evo::cuda {
namespace {

constexpr std::size_t kDefaultCalls = 20;
constexpr std::size_t kMaxCalls = 1000;
constexpr double kMinReplayUs = 50;
constexpr double kMaxReplayUs = 4000;
constexpr int kWarmReplays = 3;
constexpr int kColdWarmUps = 2;
/// Samples between two looks at the clocks: a look takes longer than a replay.
constexpr std::size_t kSamplesPerLook = 5;

/// Puts work into a stream; a failure when the driver refuses it.
using Work = std::function<std::optional<Failure>()>;

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

/// Calls over the sets of buffers in turn, as one graph.
OwnedGraphExec capture(const TimingContext& context, std::span<const BoundCall> calls, std::size_t count,
                       std::optional<Failure>& failure) {
  const Driver& driver = context.driver;
  require(driver, driver.capture_begin(context.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  for (std::size_t i = 0; i < count && !failure; ++i) failure = calls[i % calls.size()].enqueue(context.stream);
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

/// Takes samples until the criterion is met. `sample` gives microseconds per call.
Timing collect(const TimingContext& context, const TimingRequest& request,
               const std::function<double(std::optional<Failure>&)>& sample, std::optional<Failure>& failure) {
  const StoppingCriterion criterion(request);
  const auto minimum = static_cast<std::size_t>(std::max(request.min_samples, 1));
  ThrottledSamples samples;
  const double begin_s = context.seconds();
  std::size_t unlooked = 0;
  const auto look = [&] {
    if (context.throttle != nullptr && unlooked > 0 && context.throttle->throttled()) samples.mark_throttled(unlooked);
    unlooked = 0;
  };
  while (!criterion.finished(samples.unthrottled(), samples.taken(), context.seconds() - begin_s)) {
    const double us = sample(failure);
    if (failure) return {};
    samples.add(us);
    if (++unlooked == kSamplesPerLook) look();
  }
  look();

  Timing timing;
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
double warm_up(const Stopwatch& stopwatch, const TimingContext& context, std::span<const BoundCall> calls,
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
  const double first_us = warm_up(stopwatch, context, calls, failure);
  if (failure) return {};
  std::size_t count = calls_per_graph(first_us, calls.size());
  OwnedGraphExec graph = capture(context, calls, count, failure);
  if (failure) return {};

  const auto replay_us = [&](std::optional<Failure>& failed) {
    return stopwatch.measure_us(
        [&]() -> std::optional<Failure> {
          const CUresult result = context.driver.graph_launch(graph.get(), context.stream);
          if (result == CUDA_SUCCESS) return std::nullopt;
          return candidate_failure(context.driver, result, "launching a CUDA graph");
        },
        failed);
  };
  double warm_us = 0;
  for (int i = 0; i < kWarmReplays && !failure; ++i) warm_us = replay_us(failure);
  if (failure) return {};
  // A single launch takes longer than one among many, so the first guess may have been too low.
  const std::size_t wanted = calls_per_graph(warm_us / static_cast<double>(count), calls.size());
  if (wanted > count) {
    count = wanted;
    graph = capture(context, calls, count, failure);
    for (int i = 0; i < kWarmReplays && !failure; ++i) replay_us(failure);
    if (failure) return {};
  }
  return collect(
      context, request,
      [&](std::optional<Failure>& failed) { return replay_us(failed) / static_cast<double>(count); }, failure);
}

Timing time_cold(const TimingContext& context, std::span<const BoundCall> calls, const FlushBuffer& flush,
                 const TimingRequest& request, std::optional<Failure>& failure) {
  const Stopwatch stopwatch(context);
  std::size_t taken = 0;
  const auto cold_us = [&](std::optional<Failure>& failed) {
    // The write keeps the GPU busy while the host prepares the launch, so no launch latency is measured.
    const auto pattern = static_cast<unsigned char>(taken);
    require(context.driver, context.driver.memory_set(flush.address, pattern, flush.bytes, context.stream), "flushing L2");
    const BoundCall& call = calls[taken++ % calls.size()];
    return stopwatch.measure_us([&] { return call.enqueue(context.stream); }, failed);
  };
  warm_up(stopwatch, context, calls, failure);
  for (int i = 0; i < kColdWarmUps && !failure; ++i) cold_us(failure);
  if (failure) return {};
  return collect(context, request, cold_us, failure);
}

}  // namespace evo::cuda
