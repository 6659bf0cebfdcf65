#include "cli/report/run_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/subject/arguments.h"
#include "engine/base/error.h"

namespace evo::cli {

std::vector<RunId> chosen_runs(const Store& store, const RunChoice& choice) {
  std::vector<RunId> chosen;
  for (const std::string& run : choice.runs) chosen.push_back(parse_id("run", run));
  if (!chosen.empty()) return chosen;
  const std::vector<RunRow> runs = store.runs();
  if (runs.empty()) throw usage_error("no runs yet: start one with evo run --task T");
  if (choice.task.empty()) return {runs.front().id};
  const auto newest =
      std::ranges::find_if(runs, [&](const RunRow& run) { return run.info.task == choice.task && run.evaluated > 0; });
  if (newest == runs.end()) {
    throw usage_error(fmt::format("no run of task {} has results in {}: evo runs lists those there are", choice.task,
                                  store.path().string()));
  }
  for (const RunRow& run : runs)
    if (run.evaluated > 0 && of_one_board(run.info, newest->info)) chosen.push_back(run.id);
  return chosen;
}

}  // namespace evo::cli
