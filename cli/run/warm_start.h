#pragma once

#include <string>
#include <vector>

#include "engine/search/seeds.h"

namespace evo::cli {

/// What is valid of a task where --seed-from points to, by ranking, the best kSeedCandidates of each. `from`: a
/// database (the runs of each task hash, device and objective are a ranking), the number of a run of `database`, an
/// exported .cu, or a results file that `evo import` reads. Throws usage_error for anything else, and where nothing
/// valid of the task is found.
std::vector<std::vector<Seed>> warm_start_rankings(const std::string& from, const std::string& task,
                                                   const std::string& database);

/// "3 of run 4, 1 of best.cu"
std::string seeds_text(const std::vector<Seed>& seeds);

}  // namespace evo::cli
