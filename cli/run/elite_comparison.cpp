#include "cli/run/elite_comparison.h"

#include <future>
#include <utility>

#include "cli/subject/restore.h"
#include "engine/base/error.h"
#include "engine/base/noticeable.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/statistics.h"

namespace evo::cli {
namespace {

/// A comparison ends early, after so many rounds, when the whole interval of the ratio is at least this far from 1, or
/// so near to 1 that the difference is not noticeable, or when the challenger was not the faster one on average: then
/// it stays out, and nothing depends on how much slower it is. Of equal candidates, whose pairs scatter by 1 %, one in
/// 40 is then called faster, as after all rounds; of candidates that are 1 % faster three in four, as after all rounds.
constexpr std::size_t kEarliestEnd = 3;
constexpr double kPlainDifference = 0.01;

/// The latency of the first candidate over that of the second.
PairedRatio ratio_of_pair(const InterleavedTimings& timings) {
  return paired_ratio(timings.rounds_us[0], timings.rounds_us[1], timings.modelled);
}

Standing standing_of(Ranking ranking) {
  switch (ranking) {
    case Ranking::faster:
      return Standing::faster;
    case Ranking::same:
      return Standing::same;
    default:
      return Standing::slower;
  }
}

EliteComparison rule(const InterleavedTimings& timings, CandidateId incumbent) {
  // A candidate that fails now is no elite, whichever of the two it is.
  if (timings.failures[1])
    return {.elite = incumbent, .standing = Standing::elite_failed, .failure = *timings.failures[1]};
  if (timings.failures[0])
    return {.elite = incumbent, .standing = Standing::challenger_failed, .failure = *timings.failures[0]};
  const PairedRatio ratio = ratio_of_pair(timings);
  return {.elite = incumbent,
          .standing = standing_of(ranking(ratio)),
          .ratio = ratio.ratio,
          .ratio_low = ratio.low,
          .ratio_high = ratio.high,
          .rounds = ratio.pairs};
}

}  // namespace

bool comparison_decided(const InterleavedTimings& timings) {
  if (timings.failures[0] || timings.failures[1]) return true;
  const PairedRatio ratio = ratio_of_pair(timings);
  return ratio.pairs >= kEarliestEnd &&
         (ratio.ratio >= 1 || plainly_differ(ratio, kPlainDifference) || plainly_same(ratio, kNoticeable));
}

EliteComparer elite_comparer(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                             const DeviceInfo& device) {
  if (kind_named(device.kind).modelled) return {};
  return [&](const Candidate& challenger, CandidateId incumbent) {
    const Restored elite = restore(store, incumbent);
    if (elite.task.hash != task.hash) throw machine_error("an elite of another task competes: please report this");
    auto timings = pipeline.start_interleaved({challenger, restored_candidate(elite, target)}, kChallengeRounds,
                                              comparison_decided);
    return std::async(std::launch::async,
                      [incumbent, timings = std::move(timings)]() mutable { return rule(timings.get(), incumbent); });
  };
}

}  // namespace evo::cli
