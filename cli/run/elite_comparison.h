#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <span>

#include "engine/task/task.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// What is known of how pairs of latencies scatter: standard deviation of the logarithm of their ratio, from all
/// comparisons of a run, and at first from what is usual. From any thread.
class PairScatter {
 public:
  /// The logarithms of the ratios of one comparison.
  void add(std::span<const double> logs);
  /// The variance, in view of those of a comparison under way.
  double variance(std::span<const double> logs) const;

 private:
  double squares_of(std::span<const double> logs) const;
  static double variance_of(double squares, double degrees);

  mutable std::mutex mutex_;
  double squares_ = 0;  ///< Of the distances from the median of each comparison.
  double degrees_ = 0;
};

/// Wald's sequential probability ratio test: is a challenger kWorthwhile faster than an elite, or as fast? `logs`: of
/// the ratios of its latency to the elite's. True: it is faster. Empty: more pairs are needed.
std::optional<bool> sequential_test(std::span<const double> logs, double variance);

/// Rounds after which a challenger that is not known to be faster stays out; of turns of a second.
inline constexpr int kChallengeRounds = 16, kLongChallengeRounds = 6;

/// Compares challengers with elites: both are timed in interleaved rounds until the sequential test ends, and only
/// challengers that are faster displace elites. All comparisons together take no more than a share of the devices'
/// time. Does nothing for modelled times, which are exact. All arguments must outlive the result. Once `stop` is set no
/// comparison begins.
EliteComparer elite_comparer(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                             const DeviceInfo& device, const std::atomic<bool>& stop);

}  // namespace evo::cli
