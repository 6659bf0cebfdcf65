#include "cli/commands/export_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/text/atomic_file.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/gzip.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "population/results/results.h"

namespace evo::cli {
namespace {

using Writer = std::string (*)(const Results&);

const std::map<std::string, Writer> kWriters = {{"csv", csv_text}, {"kerneltuner", kernel_tuner_text}, {"t4", t4_text}};

Writer writer_of(const std::string& format) {
  const auto found = kWriters.find(format);
  if (found != kWriters.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, writer] : kWriters) names.push_back(name);
  throw unknown_name("format", format, names);
}

bool ranks_alike(const RunInfo& a, const RunInfo& b) {
  return a.task_hash == b.task_hash && a.objective == b.objective && device_key(a.device) == device_key(b.device);
}

bool matches(const RunInfo& info, const EliteFilter& filter) {
  const std::string& device = filter.device;
  return (filter.task.empty() || info.task == filter.task) &&
         (filter.objective.empty() || (info.objective + " ").starts_with(filter.objective + " ")) &&
         (device.empty() || info.device.id == device || info.device.kind == device ||
          info.device.name.find(device) != std::string::npos);
}

/// The newest run that matches and all that rank by the same, or the one that is named.
std::vector<RunId> runs_of(const Store& store, const ResultsRequest& request) {
  if (!request.run.empty()) return {find_run(store, parse_id("run", request.run)).id};
  std::vector<RunRow> rows = store.runs();
  std::erase_if(rows, [&](const RunRow& row) { return row.evaluated == 0 || !matches(row.info, request.filter); });
  if (rows.empty()) {
    throw usage_error(
        fmt::format("no run in {} matches and has results: evo runs lists what there is", store.path().string()));
  }
  std::vector<RunId> runs;
  for (const RunRow& row : rows) {
    if (ranks_alike(row.info, rows.front().info)) runs.push_back(row.id);
  }
  return runs;
}

std::string summary_of(const Results& results, const std::string& output) {
  const auto failed = std::count_if(results.rows.begin(), results.rows.end(),
                                    [](const ResultRow& row) { return row.verdict != Verdict::valid; });
  return fmt::format("{}: {} candidates ({} failed) of {} on {}, {}, from {} {}\n", output,
                     grouped(results.rows.size()), grouped(static_cast<std::uint64_t>(failed)), results.info.task,
                     results.info.device.name, results.info.objective, results.runs.size() == 1 ? "run" : "runs",
                     fmt::join(results.runs, ", "));
}

}  // namespace

int export_results(const Store& store, const ResultsRequest& request) {
  const Writer writer = writer_of(request.format);
  const Results results = results_of(store, runs_of(store, request));
  const std::string text = writer(results);
  if (request.output.empty() || request.output == "-") {
    fmt::print("{}", text);
    return kDone;
  }
  write_file(request.output, request.output.ends_with(".gz") ? gzipped(text) : text);
  fmt::print("{}", summary_of(results, request.output));
  return kDone;
}

}  // namespace evo::cli
