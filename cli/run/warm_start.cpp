#include "cli/run/warm_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/subject/arguments.h"
#include "cli/subject/lookup.h"
#include "cli/subject/recordings.h"
#include "engine/base/error.h"
#include "engine/search/presearch.h"
#include "population/export/read_export.h"
#include "population/results/formats.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

using Rankings = std::vector<std::vector<Seed>>;

void refuse_other_task(const std::string& from, const std::string& found, const std::string& wanted) {
  if (found != wanted) throw usage_error(fmt::format("--seed-from {} is of task {}, not {}", from, found, wanted));
}

/// The entries with the least latencies; of equal ones the older.
template <typename T>
std::vector<T> best_of(std::vector<std::pair<double, T>> valid) {
  std::ranges::stable_sort(valid, {}, [](const auto& entry) { return entry.first; });
  std::vector<T> best;
  for (std::size_t i = 0; i < std::min(kSeedCandidates, valid.size()); ++i) best.push_back(std::move(valid[i].second));
  return best;
}

/// A candidate and its origin. Its genome is read only if it is among the best.
using Found = std::pair<CandidateId, std::string>;
using Board = std::vector<std::pair<double, Found>>;

void add_run(const Store& store, RunId run, const std::string& origin, Board& board) {
  for (const OutcomeRow& outcome : store.outcomes(run)) {
    if (outcome.verdict == Verdict::valid && outcome.latency_us)
      board.push_back({*outcome.latency_us, {outcome.candidate, origin}});
  }
}

std::vector<Seed> ranking_of(const Store& store, Board board) {
  std::vector<Seed> ranking;
  for (Found& found : best_of(std::move(board)))
    ranking.push_back({find_candidate(store, found.first).genome, std::move(found.second)});
  return ranking;
}

Rankings rankings_of_database(const std::string& path, const std::string& task) {
  const Store store = Store::open(path, Store::Mode::read);
  std::map<std::string, Board> boards;
  for (const RunRow& run : store.runs()) {
    if (run.info.task != task) continue;
    Board& board = boards[fmt::format("{} {} {}", run.info.task_hash, device_key(run.info.device), run.info.objective)];
    add_run(store, run.id, fmt::format("{} ({}, {})", path, run.info.device.name, run.info.objective), board);
  }
  Rankings rankings;
  for (auto& [key, board] : boards) rankings.push_back(ranking_of(store, std::move(board)));
  return rankings;
}

Rankings ranking_of_run(const std::string& number, const std::string& task, const std::string& database) {
  const Store store = Store::open(database, Store::Mode::read);
  const RunRow run = find_run(store, parse_id("run", number));
  refuse_other_task("run " + number, run.info.task, task);
  Board board;
  add_run(store, run.id, "run " + number, board);
  return {ranking_of(store, std::move(board))};
}

Rankings rankings_of_export(const std::string& path, const std::string& text, const std::string& task) {
  Rankings rankings;
  for (const Exported& exported : read_exports(text, path)) {
    refuse_other_task(path, exported.provenance.task, task);
    rankings.push_back({{exported.provenance.genome, path}});
  }
  return rankings;
}

Rankings ranking_of_results(const std::string& path, const std::string& text, const std::string& task) {
  Results results = read_results(text, path);
  refuse_other_task(path, results.info.task, task);
  std::vector<std::pair<double, Seed>> valid;
  for (ResultRow& row : results.rows) {
    if (row.verdict == Verdict::valid) valid.push_back({row.latency_us, {std::move(row.genome), path}});
  }
  return {best_of(std::move(valid))};
}

Rankings read_rankings(const std::string& from, const std::string& task, const std::string& database) {
  if (all_digits(from)) return ranking_of_run(from, task, database);
  if (is_database(from)) return rankings_of_database(from, task);
  const std::string text = read_text(from);
  if (from.ends_with(".cu")) return rankings_of_export(from, text, task);
  return ranking_of_results(from, text, task);
}

}  // namespace

std::vector<std::vector<Seed>> warm_start_rankings(const std::string& from, const std::string& task,
                                                   const std::string& database) {
  Rankings rankings = read_rankings(from, task, database);
  std::erase_if(rankings, [](const auto& ranking) { return ranking.empty(); });
  if (rankings.empty()) throw usage_error(fmt::format("--seed-from {}: nothing valid of task {}", from, task));
  return rankings;
}

std::string seeds_text(const std::vector<Seed>& seeds) {
  std::map<std::string, int> counts;
  for (const Seed& seed : seeds) ++counts[seed.origin == kPresearched ? "a pre-search" : seed.origin];
  std::vector<std::string> parts;
  for (const auto& [origin, count] : counts) parts.push_back(fmt::format("{} of {}", count, origin));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace evo::cli
