#include "cli/rivals/sitting_report.h"

#include <algorithm>
#include <tuple>

#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "engine/device/device_kind.h"

namespace evo::cli {

double error_beside_rivals(const Task& task, const CandidateRow& row, const RunRow& run) {
  const std::string& regime = task.regimes.front().name;
  double worst = 0;
  for (const CaseError& error : row.evaluation.errors) {
    const auto is_its_shape = [&](const Shape& shape) { return shape.name == error.shape; };
    if (error.regime == regime && std::ranges::any_of(run.info.target.timed, is_its_shape))
      worst = std::max(worst, error.relative_l2);
  }
  return worst;
}

SittingReport sitting_report(const Store& store, Sitting sitting) {
  const CandidateRow row = find_candidate(store, sitting.candidate);
  const RunRow run = find_run(store, row.run);
  const Task task = load_task(files_of(store, run), run.info.task);
  const bool modelled = kind_named(sitting.device.kind).modelled;
  return {std::move(sitting), run.info.task, run.info.objective, modelled, error_beside_rivals(task, row, run)};
}

std::vector<SittingReport> newest_sittings(const Store& store, const EliteFilter& filter,
                                           std::optional<CandidateId> only) {
  std::vector<SittingReport> reports;
  for (Sitting& sitting : store.sittings(only)) {
    const bool newer = std::ranges::any_of(reports, [&](const SittingReport& one) {
      return one.sitting.candidate == sitting.candidate && device_key(one.sitting.device) == device_key(sitting.device);
    });
    if (newer || !is_wanted(find_run(store, sitting.run).info, sitting.device, filter)) continue;
    reports.push_back(sitting_report(store, std::move(sitting)));
  }
  std::ranges::stable_sort(reports, {}, [](const SittingReport& one) {
    return std::tuple(one.task, one.sitting.device.name, one.objective, one.sitting.median_us);
  });
  return reports;
}

}  // namespace evo::cli
