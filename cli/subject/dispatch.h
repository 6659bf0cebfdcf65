#pragma once

#include <string>
#include <vector>

#include "population/export/export.h"
#include "population/store/store.h"

namespace evo::cli {

/// Which elites may go into one file. Empty fields do not restrict.
struct DispatchFilter {
  std::string task;
  std::string device;
  std::string objective;             ///< Its words, or the first of them: "accurate".
  std::vector<std::string> options;  ///< As typed: "out=f16".
};

/// The rank 1 elites of every set of timed shapes, for the task, device, objective and options of the newest
/// run that matches: for each shape the fastest of them. One request for each kernel that is the fastest
/// somewhere, restricted to the shapes that it is for (restricted()). Elites of other tasks, devices or
/// options that match too are named on standard error. Throws usage_error when nothing matches.
std::vector<ExportRequest> dispatch_requests(const Store& store, const DispatchFilter& filter);

/// The rank 1 elites of current tasks that match, those of the newest runs first.
std::vector<EliteRow> best_elites(const Store& store, const EliteFilter& filter);

}  // namespace evo::cli
