#pragma once

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// Rounds of a comparison that does not end early. With pairs that scatter by 1 % they resolve a difference of 0.8 %
/// with a confidence of 95 %.
inline constexpr int kChallengeRounds = 9;

/// Whether the comparison of a challenger with an elite can end: one of the two has failed, the challenger is plainly
/// faster or not faster on average, or their latencies are the same.
bool comparison_decided(const InterleavedTimings& so_far);

/// Decides whether a challenger displaces an elite: both are timed in interleaved rounds, and the challenger must be
/// FASTER with a confidence of 95 %. Empty for modelled times, which are exact and need no second timing. All arguments
/// must outlive the result.
EliteComparer elite_comparer(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                             const DeviceInfo& device);

}  // namespace evo::cli
