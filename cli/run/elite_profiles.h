#pragma once

#include <functional>

#include "engine/task/candidate.h"
#include "evaluator/hosts/pipeline_options.h"
#include "population/store/store.h"

namespace evo::cli {

/// Reads the counters of those elites that a run has found, unless they were read with it, and stores them. Says in one
/// line, on stderr, why it cannot. `options`: of the run's pipeline; `build`: how its genomes become candidates.
void profile_elites(Store& store, RunId run, const PipelineOptions& options,
                    const std::function<Candidate(const Genome&)>& build);

}  // namespace evo::cli
