#pragma once

#include <string>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// Whether further rounds between a challenger and an elite are useless: one of the two has failed or is plainly
/// faster, or they are the same.
bool comparison_decided(const InterleavedTimings& so_far);

/// Decides whether a challenger displaces an elite. On a device that measures, both are timed interleaved, and only a
/// challenger that is FASTER at 95 % displaces. Empty for modelled times, which are exact. Everything referred to must
/// outlive it.
EliteJudge elite_judge(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                       const DeviceInfo& device);

}  // namespace evo::cli
