#pragma once

#include <string>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// Whether more rounds between a challenger and an elite would change nothing: one of the two has failed or is plainly
/// faster, or they are the same.
bool comparison_decided(const Turns& so_far);

/// What run() asks before an elite is displaced: on measured devices the challenger and the incumbent are timed in
/// turns, and only a challenger that is FASTER at 95 % displaces. Empty for modelled times, which are exact. Everything
/// referred to must outlive it.
EliteJudge elite_judge(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                       const DeviceInfo& device);

}  // namespace evo::cli
