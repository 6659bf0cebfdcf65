#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// A sitting with what it is about.
struct SittingReport {
  Sitting sitting;
  std::string task;
  std::string objective;
  bool modelled = false;
  double relative_l2 = 0;  ///< The candidate's: see error_beside_rivals.
};

SittingReport sitting_report(const Store& store, Sitting sitting);

/// The candidate's worst error on inputs like those of the rivals: at its timed shapes, in the task's first regime.
double error_beside_rivals(const Task& task, const CandidateRow& row, const RunRow& run);

/// Of each candidate the newest sitting on each model of device, by task, device, objective and latency. An empty field
/// of the filter does not restrict; `only` is the one candidate that is wanted.
std::vector<SittingReport> newest_sittings(const Store& store, const EliteFilter& filter,
                                           std::optional<CandidateId> only = {});

}  // namespace evo::cli
