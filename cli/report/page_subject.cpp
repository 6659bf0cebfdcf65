#include "cli/report/page_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/subject/lookup.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

std::vector<CandidateRow> fastest(const Store& store, const std::string& task_hash,
                                  const std::vector<OutcomeRow>& outcomes) {
  std::set<CandidateId> elites;
  for (const EliteRow& elite : store.elites({.task_hash = task_hash})) elites.insert(elite.candidate);
  std::vector<OutcomeRow> ranked = by_latency(outcomes);
  std::ranges::stable_partition(ranked, [&](const OutcomeRow& one) { return elites.contains(one.candidate); });
  std::vector<CandidateRow> rows;
  std::set<std::string> sources;
  for (const OutcomeRow& one : ranked) {
    if (rows.size() == kShownKernels) break;
    CandidateRow row = find_candidate(store, one.candidate);
    // Imported ones have no source.
    if (sources.insert(row.programs.empty() ? to_text(row.genome) : row.source_hash).second)
      rows.push_back(std::move(row));
  }
  return rows;
}

void refuse_other_board(const RunInfo& first, const RunRow& other) {
  const RunInfo& info = other.info;
  const auto refuse = [&](std::string_view what, const std::string& a, const std::string& b) {
    throw usage_error(fmt::format(
        "run {} is of another {} ({}, not {}): a page shows runs that compete with each other", other.id, what, b, a));
  };
  if (info.task != first.task) refuse("task", first.task, info.task);
  if (info.task_hash != first.task_hash) refuse("version of the task", first.task_hash, info.task_hash);
  if (device_key(info.device) != device_key(first.device)) refuse("device", first.device.name, info.device.name);
  if (info.objective != first.objective) refuse("objective", first.objective, info.objective);
}

}  // namespace

std::vector<OutcomeRow> by_latency(std::vector<OutcomeRow> outcomes) {
  std::erase_if(outcomes, [](const OutcomeRow& one) { return one.verdict != Verdict::valid || !one.latency_us; });
  std::ranges::stable_sort(outcomes, {}, [](const OutcomeRow& one) { return *one.latency_us; });
  return outcomes;
}

PageSubject page_subject(const Store& store, std::vector<RunId> runs) {
  std::ranges::sort(runs);
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  PageSubject subject;
  for (const RunId id : runs) {
    RunRow run = find_run(store, id);
    if (!subject.runs.empty()) refuse_other_board(subject.runs.front().info, run);
    subject.runs.push_back(std::move(run));
    subject.outcomes.push_back(store.outcomes(id));
    subject.all.insert(subject.all.end(), subject.outcomes.back().begin(), subject.outcomes.back().end());
  }
  const RunInfo& info = subject.runs.front().info;
  subject.files = store.task_files(info.task_hash);
  if (subject.files.empty()) {
    subject.task.name = info.task;
    subject.task.hash = info.task_hash;
  } else {
    subject.task = load_task(subject.files, info.task);
  }
  subject.target = info.target;
  subject.device = info.device;
  subject.best = fastest(store, info.task_hash, subject.all);
  return subject;
}

}  // namespace evo::cli
