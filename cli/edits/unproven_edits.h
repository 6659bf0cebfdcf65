#pragma once

#include "population/store/store.h"

namespace evo::cli {

/// At the end of a run: kernels that it made by edits and whose checks as elites were not made leave their places
/// (engine/result/elite_check.h). Returns how many did.
std::size_t drop_unproven_edits(Store& store, RunId run, const EliteFilter& board, bool keeps_front);

}  // namespace evo::cli
