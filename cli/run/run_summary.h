#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/edits/edit_counts.h"
#include "cli/run/device_shares.h"
#include "cli/run/rejections.h"
#include "cli/run/run_times.h"
#include "cli/text/terminal.h"
#include "engine/search/search.h"
#include "population/store/store.h"

namespace evo::cli {

/// The result of a warm start.
struct SeedsBrought {
  std::size_t taken = 0;  ///< Genomes of other runs with which the run began.
  std::vector<std::string> origins;
  std::size_t evaluated = 0;
  std::size_t valid = 0;
  std::optional<OutcomeRow> best;       ///< Of these.
  std::optional<CandidateId> ancestor;  ///< The one from which the run's best descends, the best itself among them.
};

/// The result of a run.
struct RunSummary {
  RunRow run;
  SearchResult result;
  std::map<Verdict, std::uint64_t> verdicts;
  std::optional<OutcomeRow> first_valid;  ///< In ask order.
  std::optional<OutcomeRow> best;         ///< Of this run; the elites may be from earlier runs.
  std::string why_no_elite;               ///< Of the best one; empty where it is an elite, or slower than those.
  std::vector<EliteRow> elites;           ///< Of the run's task, device and objective.
  std::vector<EliteRow> front;            ///< Of latency over error, where the run keeps it.
  std::vector<Rejection> rejections;      ///< By their first candidates.

  SeedsBrought seeds;
  ExchangeSums exchanges;  ///< With a language model.
  EditCounts edits;
  DeviceShares devices;
  std::vector<HostShare> modelled;  ///< By this host and the others; empty without a cost model.
  std::vector<HostShare> compiled;  ///< The same where nothing is modelled.
  RunTimes times;

  std::vector<OutcomeRow> proposed;  ///< Those of --proposals.
  std::vector<std::string> refused;  ///< Proposals that no later question has told, each as JSON with the reason.

  bool self_consistent = false;  ///< The task has no reference but a genome.

  /// First valid latency over the best's; empty while nothing was valid.
  std::optional<double> improvement() const;
};

/// Why candidates were rejected is looked at once more (explain_first), unless the run was interrupted. `placed` puts
/// the author's places into the reasons.
RunSummary summarise(const Store& store, RunId run, const SearchResult& result,
                     const std::function<std::string(const std::string&)>& placed);

/// What proposers brought after the first `recalled` candidates of a run.
std::vector<OutcomeRow> proposed_outcomes(const Store& store, RunId run, std::uint64_t recalled);

nlohmann::ordered_json seeds_json(const SeedsBrought& seeds);
nlohmann::ordered_json exchanges_json(const ExchangeSums& sums);

/// "model qwen: 12 requests, 1 of them failed, 34,567 tokens, cost 0.12; 9 candidates, 6 valid, the best ..." in one
/// line; empty: it was not asked.
std::string exchanges_text(const ExchangeSums& sums);

/// What `evo run --json` prints at its end.
std::string run_document(const RunSummary& summary);

/// " --db FILE" in commands that are printed; empty for the usual database.
std::string database_argument(const std::string& database);

/// What `evo run` prints at its end. `database`: as the user named it, for the commands that are suggested next.
std::string run_text(const RunSummary& summary, const std::string& database, const Terminal& terminal);

}  // namespace evo::cli
