#include "cli/subject/dispatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/subject/arguments.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/export_request.h"
#include "cli/subject/lookup.h"
#include "cli/subject/restore.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

struct Elite {
  EliteRow row;
  Target target;
};

/// The objective without its shapes.
std::string aim_of(Target target) {
  target.timed.clear();
  target.validated.clear();
  return objective_of(target);
}

bool alike(const Elite& a, const Elite& b) {
  return a.row.task_hash == b.row.task_hash && device_key(a.row.device) == device_key(b.row.device) &&
         aim_of(a.target) == aim_of(b.target);
}

/// Drops the elites of other options. Each task that is left must know the options that were named.
void keep_options(const Store& store, std::vector<Elite>& elites, const std::vector<std::string>& arguments) {
  if (arguments.empty() || elites.empty()) return;
  const EliteRow& newest = elites.front().row;
  const Bindings wanted = parse_options(load_task(store.task_files(newest.task_hash), newest.task), arguments);
  std::erase_if(elites, [&](const Elite& elite) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto& option) {
      const auto found = elite.target.options.find(option.first);
      return found == elite.target.options.end() || found->second != option.second;
    });
  });
}

std::vector<Elite> matching(const Store& store, const DispatchFilter& filter) {
  std::vector<Elite> elites;
  for (EliteRow& row :
       best_elites(store, {.task = filter.task, .device = filter.device, .objective = filter.objective}))
    elites.push_back({row, find_run(store, row.run).info.target});
  keep_options(store, elites, filter.options);
  if (elites.empty()) {
    throw usage_error(fmt::format(
        "no elites to choose among{}{}{} in {}: evo elites lists what there is, evo run --shapes finds some",
        filter.task.empty() ? "" : " of task " + filter.task, filter.device.empty() ? "" : " on " + filter.device,
        filter.options.empty() ? "" : fmt::format(" with {}", fmt::join(filter.options, " ")), store.path().string()));
  }
  return elites;
}

/// The elite that is fastest at a shape, and the name that its run gave the shape.
struct Winner {
  std::size_t elite = 0;
  std::string shape;
  double us = 0;
};

std::map<Bindings, Winner> winners(const std::vector<Elite>& elites) {
  std::map<Bindings, Winner> best;
  for (std::size_t i = 0; i < elites.size(); ++i) {
    for (const Shape& shape : elites[i].target.timed) {
      for (const Timing& timing : elites[i].row.timings) {
        if (timing.cold || timing.shape != shape.name) continue;
        const auto [found, first] = best.try_emplace(shape.parameters, Winner{i, shape.name, timing.median_us});
        if (!first && timing.median_us < found->second.us) found->second = {i, shape.name, timing.median_us};
      }
    }
  }
  return best;
}

}  // namespace

std::vector<EliteRow> best_elites(const Store& store, const EliteFilter& filter) {
  std::vector<EliteRow> best;
  for (const EliteRow& row : find_elites(store, filter)) {
    if (row.rank == 1 && row.current) best.push_back(row);
  }
  std::vector<EliteRow> ordered;
  for (const RunRow& run : store.runs()) {
    const auto found = std::ranges::find_if(best, [&](const EliteRow& row) { return of_one_board(row, run.info); });
    if (found == best.end()) continue;
    ordered.push_back(*found);
    best.erase(found);
  }
  return ordered;
}

std::vector<ExportRequest> dispatch_requests(const Store& store, const DispatchFilter& filter) {
  std::vector<Elite> elites = matching(store, filter);
  const Elite newest = elites.front();
  for (const Elite& elite : elites) {
    if (alike(elite, newest)) continue;
    write_to_stderr(
        fmt::format("not exported: candidate {}, {} (choose with --task, --device, --objective or --option)\n",
                    elite.row.candidate, elite_heading(elite.row)));
  }
  std::erase_if(elites, [&](const Elite& elite) { return !alike(elite, newest); });

  std::vector<std::vector<std::string>> shapes(elites.size());
  for (const auto& [parameters, winner] : winners(elites)) shapes[winner.elite].push_back(winner.shape);
  std::vector<ExportRequest> requests;
  for (std::size_t i = 0; i < elites.size(); ++i) {
    if (shapes[i].empty()) continue;
    requests.push_back(restricted(export_request(restore(store, elites[i].row.candidate)), shapes[i]));
  }
  return requests;
}

}  // namespace evo::cli
