#pragma once

#include <vector>

#include "cli/run/run_setup.h"
#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"
#include "engine/space/space.h"

namespace evo::cli {

/// The first genomes of a new run: the best of other runs, then the best of a pre-search. `predictor`: null when the
/// cost model does not guide the run. `quiet`: without progress on standard error. Throws usage_error when no genome of
/// the other runs belongs to the space.
std::vector<Seed> opening_seeds(const PreparedRun& run, const Space& space, LatencyPredictor* predictor, bool quiet);

}  // namespace evo::cli
