#include "cli/run/elite_comparison.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/subject/restore.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/statistics.h"

namespace evo::cli {
namespace {

/// The difference that a comparison looks for: half of it is noticeable.
constexpr double kWorthwhile = 0.01;
/// Of challengers that are as fast so many are called faster, and of those that are kWorthwhile faster so many are not.
constexpr double kWronglyIn = 0.01, kWronglyOut = 0.03;
/// What is assumed of pairs before any is known: they scatter like this, with the weight of so many pairs.
constexpr double kUsualScatter = 0.005, kUsualWeight = 4;
/// A single timing may be far off. A pair counts no more than this part of what calls a challenger faster, and in the
/// scatter it counts as no more than so many standard deviations.
constexpr double kMostOfOnePair = 0.6, kMostDeviations = 3;

/// Two single timings of one kernel rarely differ by more. Where a power limit moves the clocks, or they are of other
/// days or GPUs, single ones scatter by 2 to 5 %.
constexpr double kTimingsDiffer = 0.02, kTimingsDifferWithClocks = 0.1;

/// The part of the devices' time that comparisons may take: beside the search, and once it has ended. At the end fewer
/// are left, because the others have fallen behind.
constexpr double kShareBeside = 0.05, kShareAfter = 0.14;
/// What the first comparison is expected to take: under a power limit its turns last a second.
constexpr double kFirstSeconds = 0.5, kFirstSecondsUnderPowerLimit = 4;

std::vector<double> log_ratios(const InterleavedTimings& timings) {
  std::vector<double> logs;
  const std::size_t rounds = std::min(timings.rounds_us[0].size(), timings.rounds_us[1].size());
  for (std::size_t i = 0; i < rounds; ++i) logs.push_back(std::log(timings.rounds_us[0][i] / timings.rounds_us[1][i]));
  return logs;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool has_power_limit(const Evaluation& evaluation) {
  return std::ranges::any_of(evaluation.timings,
                             [](const Timing& timing) { return !timing.cold && timing.conditions.power_limited; });
}

bool one_failed(const InterleavedTimings& timings) {
  return timings.failures[0] || timings.failures[1];
}

EliteComparison rule(const InterleavedTimings& timings, CandidateId incumbent, PairScatter& scatter) {
  // A candidate that fails now is no elite, whichever of the two it is.
  if (timings.failures[1])
    return {.elite = incumbent, .standing = Standing::elite_failed, .failure = *timings.failures[1]};
  if (timings.failures[0])
    return {.elite = incumbent, .standing = Standing::challenger_failed, .failure = *timings.failures[0]};
  const std::vector<double> logs = log_ratios(timings);
  const double variance = scatter.variance(logs);
  scatter.add(logs);
  const double half_width = 1.96 * std::sqrt(variance / static_cast<double>(logs.size()));
  EliteComparison result{.elite = incumbent,
                         .standing = Standing::same,
                         .ratio = std::exp(mean(logs)),
                         .ratio_low = std::exp(mean(logs) - half_width),
                         .ratio_high = std::exp(mean(logs) + half_width),
                         .rounds = logs.size()};
  if (result.ratio_low > 1) result.standing = Standing::slower;
  if (sequential_test(logs, variance).value_or(false)) result.standing = Standing::faster;
  return result;
}

}  // namespace

void PairScatter::add(std::span<const double> logs) {
  const std::lock_guard lock(mutex_);
  squares_ += squares_of(logs);
  degrees_ += static_cast<double>(logs.size()) - 1;
}

double PairScatter::variance(std::span<const double> logs) const {
  const std::lock_guard lock(mutex_);
  return variance_of(squares_ + squares_of(logs), degrees_ + static_cast<double>(logs.size()) - 1);
}

double PairScatter::squares_of(std::span<const double> logs) const {
  const double most = kMostDeviations * kMostDeviations * variance_of(squares_, degrees_);
  const double center = median_interval(logs).median;
  double squares = 0;
  for (const double log : logs) squares += std::min((log - center) * (log - center), most);
  return squares;
}

double PairScatter::variance_of(double squares, double degrees) {
  return (kUsualWeight * kUsualScatter * kUsualScatter + squares) / (kUsualWeight + degrees);
}

std::optional<bool> sequential_test(std::span<const double> logs, double variance) {
  const double in = std::log((1 - kWronglyOut) / kWronglyIn), out = std::log((1 - kWronglyIn) / kWronglyOut);
  double evidence = 0;  // The logarithm of the ratio of likelihoods: kWorthwhile faster over as fast.
  for (const double log : logs)
    evidence += std::min(-kWorthwhile * (log + kWorthwhile / 2) / variance, kMostOfOnePair * in);
  if (evidence >= in) return true;
  if (evidence <= -out) return false;
  return std::nullopt;
}

EliteComparer elite_comparer(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                             const DeviceInfo& device, const std::atomic<bool>& stop) {
  if (kind_named(device.kind).modelled) return {};
  const auto scatter = std::make_shared<PairScatter>();
  const auto first_s = std::make_shared<double>(kFirstSeconds);
  EliteComparer comparer;
  comparer.plainly_faster = [first_s](const Evaluation& challenger, const Evaluation& elite, bool of_one_run) {
    const bool limited = has_power_limit(challenger) || has_power_limit(elite);
    if (limited) *first_s = kFirstSecondsUnderPowerLimit;
    const double differ = limited || !of_one_run ? kTimingsDifferWithClocks : kTimingsDiffer;
    return challenger.latency_us < elite.latency_us * (1 - differ);
  };
  const auto started = std::make_shared<int>(0);
  comparer.may_start = [&, first_s, started, begin = pipeline.times()](EliteComparer::When when) {
    const bool beside = when == EliteComparer::When::beside_search;
    const LaneTimes times = pipeline.times().since(begin);
    // The next one takes as long as those before.
    const double next_s = *started > 0 ? times.comparison_s / *started : *first_s;
    // Behind the search one device works, and the others wait.
    const double after = (kShareAfter - kShareBeside) / static_cast<double>(pipeline.width());
    const double share = kShareBeside + (beside ? 0 : after);
    return !stop && times.comparison_s + next_s <= share * (times.total_s() + next_s);
  };
  comparer.start = [&, scatter, started](CandidateId challenger, CandidateId incumbent) {
    ++*started;
    std::vector<Candidate> both;
    for (const CandidateId one : {challenger, incumbent}) {
      const Restored restored = restore(store, one);
      if (restored.task.hash != task.hash) throw machine_error("an elite of another task competes: please report this");
      both.push_back(restored_candidate(restored, target));
    }
    auto timings = pipeline.start_interleaved(std::move(both), kChallengeRounds, [scatter, &stop](const auto& so_far) {
      if (stop || one_failed(so_far)) return true;
      const std::vector<double> logs = log_ratios(so_far);
      if (so_far.long_turns && logs.size() == kLongChallengeRounds) return true;
      return sequential_test(logs, scatter->variance(logs)).has_value();
    });
    return std::async(
        std::launch::async,
        [incumbent, scatter, &stop, timings = std::move(timings)]() mutable -> std::optional<EliteComparison> {
          const InterleavedTimings both = timings.get();
          if (stop) return std::nullopt;
          return rule(both, incumbent, *scatter);
        });
  };
  return comparer;
}

}  // namespace evo::cli
