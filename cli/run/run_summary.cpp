#include "cli/run/run_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/check/author_file.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/lookup.h"
#include "cli/subject/self_consistency.h"
#include "cli/text/format.h"
#include "cli/text/shell_words.h"

namespace evo::cli {
namespace {

constexpr std::size_t kShownRejections = 3;

std::string database_argument(const std::string& database) {
  return database == kDefaultDatabase ? "" : fmt::format(" --db {}", shell_word(database));
}

std::string improvement_text(const RunSummary& summary) {
  if (!summary.best) return "no candidate was valid\n";
  std::string text =
      fmt::format("best of this run: candidate {}, {} us, {:.2f}x faster than the first valid one ({} us)\n",
                  summary.best->candidate, microseconds(*summary.best->latency_us), *summary.improvement(),
                  microseconds(*summary.first_valid->latency_us));
  if (!summary.why_no_elite.empty()) text += fmt::format("  no elite: {}\n", summary.why_no_elite);
  return text;
}

/// The comparison that kept a candidate out of the elites: the last line of what was noted of it. Empty: there was
/// none.
std::string losing_comparison(const CandidateRow& row) {
  if (row.elite_rank) return "";
  std::string_view notes = row.evaluation.sass_summary;
  while (notes.ends_with('\n')) notes.remove_suffix(1);
  const std::string_view last = notes.substr(notes.rfind('\n') + 1);
  return last.find("compared with elite") == std::string_view::npos ? "" : std::string(last);
}

/// Why candidates were rejected: the first reasons.
std::string rejections_text(const RunSummary& summary) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kShownRejections, summary.rejections.size()); ++i)
    text += rejection_text(summary.rejections[i]);
  if (summary.rejections.size() > kShownRejections)
    text += fmt::format("  and {} more reasons\n", summary.rejections.size() - kShownRejections);
  return text;
}

std::string next_commands(const RunSummary& summary, const std::string& database) {
  const std::string db = database_argument(database);
  std::string text;
  if (summary.result.interrupted) {
    text += fmt::format("interrupted; continue with: evo run --resume {}{}\n", summary.run.id, db);
  }
  if (!summary.elites.empty()) {
    const CandidateId best = summary.elites.front().candidate;
    text += fmt::format("show the best:              evo show {}{}\n", best, db);
    text += fmt::format("export it:                  evo export {}{} -o best.cu\n", best, db);
  } else if (summary.run.evaluated > 0) {
    text += fmt::format("show why none was valid:    evo runs {}{}\n", summary.run.id, db);
  }
  return text;
}

}  // namespace

std::optional<double> RunSummary::improvement() const {
  if (!best || !first_valid) return {};
  return *first_valid->latency_us / *best->latency_us;
}

RunSummary summarise(const Store& store, RunId run, const SearchResult& result,
                     const std::function<std::string(const std::string&)>& placed) {
  RunSummary summary;
  summary.run = find_run(store, run);
  summary.result = result;
  const std::vector<OutcomeRow> outcomes = store.outcomes(run);
  for (const OutcomeRow& outcome : outcomes) {
    ++summary.verdicts[outcome.verdict];
    if (!outcome.latency_us) continue;
    if (!summary.first_valid) summary.first_valid = outcome;
    if (!summary.best || *outcome.latency_us < *summary.best->latency_us) summary.best = outcome;
  }
  summary.rejections = rejections_of(outcomes);
  if (!result.interrupted) explain_first(summary.rejections, kShownRejections, store);
  for (Rejection& rejection : summary.rejections) {
    rejection.reason = placed(with_file(rejection.verdict, rejection.reason, summary.run.info.task, rejection.family));
    for (std::string& finding : rejection.findings) finding = placed(finding);
  }
  const RunInfo& info = summary.run.info;
  EliteFilter filter;
  filter.task = info.task;
  filter.task_hash = info.task_hash;
  filter.objective = info.objective;
  for (const EliteRow& row : store.elites(filter)) {
    if (device_key(row.device) == device_key(info.device)) summary.elites.push_back(row);
  }
  if (summary.best) summary.why_no_elite = losing_comparison(find_candidate(store, summary.best->candidate));
  summary.self_consistent = is_self_consistent(store, info.task, info.task_hash);
  for (EliteRow& row : summary.elites) row.self_consistent = summary.self_consistent;
  return summary;
}

std::string run_text(const RunSummary& summary, const std::string& database, const Terminal& terminal) {
  std::string text;
  if (!summary.elites.empty()) {
    text += styled(terminal, Style::bold, elite_heading(summary.elites.front())) + '\n';
    text += elite_table(summary.elites, terminal) + '\n';
  }
  text += improvement_text(summary);
  if (summary.self_consistent) {
    text += fmt::format("{}: the task has no reference, so its kernels agree with the first genome and no more\n",
                        kSelfConsistentOnly);
  }
  if (!summary.verdicts.empty()) {
    text += fmt::format("{} evaluated: {}\n", summary.result.answered, verdict_counts(summary.verdicts));
  }
  text += rejections_text(summary);
  text += shares_text(summary.devices);
  if (summary.result.reached) text += "the latency of --until is reached\n";
  if (summary.result.exhausted) text += "the space is exhausted: every legal genome was tried\n";
  return text + next_commands(summary, database);
}

}  // namespace evo::cli
