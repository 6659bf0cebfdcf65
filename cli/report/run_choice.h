#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// Which runs are shown together, as typed.
struct RunChoice {
  std::vector<std::string> runs = {};  ///< Their numbers.
  std::string task = {};
};

/// The runs that are named; else those of the task that compete with its newest, the newest first; else the newest.
/// Throws usage_error when there is none.
std::vector<RunId> chosen_runs(const Store& store, const RunChoice& choice);

}  // namespace evo::cli
