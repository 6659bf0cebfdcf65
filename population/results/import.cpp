#include "population/results/import.h"

namespace evo {
namespace {

Evaluation evaluation_of(const RunInfo& info, const ResultRow& row) {
  Evaluation evaluation;
  evaluation.verdict = row.verdict;
  evaluation.reason = row.verdict == Verdict::valid ? "" : "recorded elsewhere";
  Build& build = evaluation.builds.emplace_back();
  build.arch = info.device.arch;
  build.compile_ms = row.compile_ms;
  evaluation.timings = row.timings;
  evaluation.latency_us = row.latency_us;
  evaluation.worst_relative_l2 = row.worst_relative_l2;
  return evaluation;
}

}  // namespace

RunId import_results(Store& store, const Results& results, const std::string& command) {
  RunInfo info = results.info;
  info.strategy = kImported;
  info.evaluation_limit = results.rows.size();
  info.command_line = command;
  const RunId run = store.begin_run(info);
  const std::unique_ptr<Archive> archive = store.archive(run);
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    const ResultRow& row = results.rows[i];
    archive->record({i, row.genome, std::string(kImported), {}}, {row.genome, {}}, evaluation_of(info, row));
  }
  store.finish_run(run, RunStatus::finished);
  return run;
}

}  // namespace evo
