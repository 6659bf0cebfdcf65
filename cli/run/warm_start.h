#pragma once

#include <string>
#include <vector>

#include "engine/search/seeds.h"

namespace evo::cli {

/// The best valid genomes of a task that --seed-from names, at most kSeedCandidates for each ranking. `from` is a
/// database (the runs of each task hash, device and objective make a ranking), the number of a run in `database`, an
/// exported .cu file, or a results file that `evo import` reads. Throws usage_error for anything else, and when there
/// is no valid genome of the task.
std::vector<std::vector<Seed>> warm_start_rankings(const std::string& from, const std::string& task,
                                                   const std::string& database);

/// Where seeds are from: "3 of run 4, 1 of best.cu".
std::string seeds_text(const std::vector<Seed>& seeds);

}  // namespace evo::cli
