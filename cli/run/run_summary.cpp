#include "cli/run/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "cli/check/author_file.h"
#include "cli/subject/elite_table.h"
#include "cli/subject/lookup.h"
#include "cli/subject/self_consistency.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/result_text.h"
#include "cli/text/shell_words.h"
#include "engine/search/presearch.h"

namespace evo::cli {

std::string database_argument(const std::string& database) {
  return database == kDefaultDatabase ? "" : fmt::format(" --db {}", shell_word(database));
}

namespace {

constexpr std::size_t kShownRejections = 3;

std::string improvement_text(const RunSummary& summary) {
  if (!summary.best) return "no candidate was valid\n";
  std::string text =
      fmt::format("best of this run: candidate {}, {} us, {:.2f}x faster than the first valid one ({} us)\n",
                  summary.best->candidate, microseconds(*summary.best->latency_us), *summary.improvement(),
                  microseconds(*summary.first_valid->latency_us));
  if (!summary.why_no_elite.empty()) text += fmt::format("  no elite: {}\n", summary.why_no_elite);
  return text;
}

/// Why a candidate is no elite: the comparison that it lost, or that there was no time for one; empty: it is one, or is
/// slower than those.
std::string why_no_elite(const CandidateRow& row, const std::vector<EliteRow>& elites) {
  const auto& comparison = row.evaluation.comparison;
  if (row.elite_rank || (comparison && comparison->displaces())) return "";
  if (comparison) return comparison_text(*comparison);
  const auto same = std::ranges::find(elites, row.source_hash, &EliteRow::source_hash);
  if (same != elites.end()) return fmt::format("its kernel is elite {}", same->candidate);
  if (elites.empty() || elites.back().modelled || row.evaluation.latency_us >= elites.back().latency_us) return "";
  return fmt::format("as fast as elite {} within what timings err, and there was no time to compare: evo compare {} {}",
                     elites.back().candidate, row.id, elites.back().candidate);
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

SeedsBrought seeds_brought(const Store& store, const RunInfo& info, const std::vector<OutcomeRow>& outcomes,
                           const std::optional<OutcomeRow>& best) {
  SeedsBrought seeds;
  std::set<std::string> genomes;
  for (const Seed& seed : info.seeds) {
    if (seed.origin == kPresearched) continue;
    ++seeds.taken;
    genomes.insert(to_text(seed.genome));
    if (std::ranges::find(seeds.origins, seed.origin) == seeds.origins.end()) seeds.origins.push_back(seed.origin);
  }
  std::set<CandidateId> candidates;
  for (const OutcomeRow& outcome : outcomes) {
    if (outcome.op != "seed" || !genomes.contains(to_text(outcome.genome))) continue;
    candidates.insert(outcome.candidate);
    ++seeds.evaluated;
    if (!outcome.latency_us) continue;
    ++seeds.valid;
    if (!seeds.best || *outcome.latency_us < *seeds.best->latency_us) seeds.best = outcome;
  }
  if (!best || candidates.empty()) return seeds;
  for (const LineageRow& ancestor : store.lineage(best->candidate)) {
    if (!candidates.contains(ancestor.candidate)) continue;
    seeds.ancestor = ancestor.candidate;
    break;  // the nearest one
  }
  return seeds;
}

std::string seeds_brought_text(const RunSummary& summary) {
  const SeedsBrought& seeds = summary.seeds;
  if (seeds.taken == 0) return "";
  std::string text =
      fmt::format("began with {} genome{} from {}; {} evaluated, {} valid", seeds.taken, seeds.taken == 1 ? "" : "s",
                  fmt::join(seeds.origins, " and "), seeds.evaluated, seeds.valid);
  if (!seeds.best) return text + '\n';
  text += fmt::format(", the best candidate {}, {} us", seeds.best->candidate, microseconds(*seeds.best->latency_us));
  if (!seeds.ancestor)
    text += "; the best of this run does not descend from them";
  else if (*seeds.ancestor == summary.best->candidate)
    text += "; it is the best of this run";
  else
    text += fmt::format("; the best of this run descends from candidate {} and is {:.2f}x faster than the best of them",
                        *seeds.ancestor, *seeds.best->latency_us / *summary.best->latency_us);
  return text + '\n';
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

/// "modelled: 212 programs here, 187 on node7"; empty where no other host helps.
std::string hosts_text(std::string_view done, const std::vector<HostShare>& shares) {
  if (shares.size() < 2) return "";
  std::string text = fmt::format("{}: {} programs here", done, grouped(shares.front().programs));
  for (const HostShare& share : std::span(shares).subspan(1))
    text += fmt::format(", {} on {}", grouped(share.programs), share.host);
  return text + '\n';
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
  summary.elites = elites_of_board(store, info);
  if (summary.best) summary.why_no_elite = why_no_elite(find_candidate(store, summary.best->candidate), summary.elites);
  summary.seeds = seeds_brought(store, info, outcomes, summary.best);
  summary.exchanges = store.exchange_sums(run);
  summary.self_consistent = is_self_consistent(store, info.task, info.task_hash);
  if (info.keeps_front) summary.front = front_of_board(store, info);
  for (auto* rows : {&summary.elites, &summary.front})
    for (EliteRow& row : *rows) row.self_consistent = summary.self_consistent;
  return summary;
}

nlohmann::ordered_json seeds_json(const SeedsBrought& seeds) {
  return {{"taken", seeds.taken},
          {"origins", seeds.origins},
          {"evaluated", seeds.evaluated},
          {"valid", seeds.valid},
          {"best", seeds.best ? nlohmann::ordered_json(seeds.best->candidate) : nlohmann::ordered_json(nullptr)},
          {"best_us", seeds.best ? or_null(seeds.best->latency_us) : nlohmann::ordered_json(nullptr)},
          {"ancestor_of_best", or_null(seeds.ancestor)}};
}

nlohmann::ordered_json exchanges_json(const ExchangeSums& sums) {
  return {{"model", sums.model},   {"requests", sums.requests},  {"failed", sums.failed},
          {"tokens", sums.tokens}, {"cost", sums.cost},          {"candidates", sums.candidates},
          {"valid", sums.valid},   {"best", or_null(sums.best)}, {"best_us", or_null(sums.best_us)}};
}

std::string exchanges_text(const ExchangeSums& sums) {
  if (sums.requests == 0) return "";
  std::string text = fmt::format("model {}: {} request{}", one_line(sums.model), grouped(sums.requests),
                                 sums.requests == 1 ? "" : "s");
  if (sums.failed > 0) text += fmt::format(", {} without proposals", grouped(sums.failed));
  text += fmt::format(", {} tokens", grouped(sums.tokens));
  if (sums.cost > 0) text += fmt::format(", cost {:.4g}", sums.cost);
  text += fmt::format("; {} candidates, {} valid", sums.candidates, sums.valid);
  if (sums.best) text += fmt::format(", the best candidate {}, {} us", *sums.best, microseconds(*sums.best_us));
  return text + '\n';
}

std::string run_text(const RunSummary& summary, const std::string& database, const Terminal& terminal) {
  std::string text;
  if (!summary.elites.empty()) {
    text += styled(terminal, Style::bold, elite_heading(summary.elites.front())) + '\n';
    text += elite_table(summary.elites, terminal) + '\n';
  }
  text += front_text(summary.front, terminal);
  text += improvement_text(summary);
  if (summary.self_consistent) {
    text += fmt::format("{}: the task has no reference, so its kernels agree with the first genome and no more\n",
                        kSelfConsistentOnly);
  }
  if (!summary.verdicts.empty()) {
    text += fmt::format("{} evaluated: {}\n", summary.result.answered, verdict_counts(summary.verdicts));
  }
  text += rejections_text(summary);
  text += times_text(summary.times);
  text += seeds_brought_text(summary);
  text += exchanges_text(summary.exchanges);
  text += edit_counts_text(summary.edits, terminal);
  text += shares_text(summary.devices);
  text += hosts_text("modelled", summary.modelled);
  text += hosts_text("compiled", summary.compiled);
  if (summary.result.reached) text += "the latency of --until is reached\n";
  if (summary.result.settled)
    text += fmt::format(
        "ended: {} evaluations more would bring 1 % with a chance of {} (docs/search.md); --time or "
        "--evals with --resume {} goes on\n",
        grouped(summary.result.answered), percent(*summary.result.settled), summary.run.id);
  if (summary.result.exhausted) text += "the space is exhausted: every legal genome was tried\n";
  return text + next_commands(summary, database);
}

}  // namespace evo::cli
