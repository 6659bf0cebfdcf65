#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/device_shares.h"
#include "cli/run/rejections.h"
#include "cli/text/terminal.h"
#include "engine/search/search.h"
#include "population/store/store.h"

namespace evo::cli {

/// The result of a run.
struct RunSummary {
  RunRow run;
  SearchResult result;
  std::map<Verdict, std::uint64_t> verdicts;
  std::optional<OutcomeRow> first_valid;  ///< In ask order.
  std::optional<OutcomeRow> best;         ///< Of this run; the elites may be from earlier runs.
  std::string why_no_elite;               ///< How the best one compared with the elite that stayed; else empty.
  std::vector<EliteRow> elites;           ///< Of the run's task, device and objective.
  std::vector<Rejection> rejections;      ///< By their first candidates.

  DeviceShares devices;

  bool self_consistent = false;  ///< The task has no reference but a genome.

  /// First valid latency over the best's; empty while nothing was valid.
  std::optional<double> improvement() const;
};

/// Why candidates were rejected is looked at once more (explain_first), unless the run was interrupted. `placed` puts
/// the author's places into the reasons.
RunSummary summarise(const Store& store, RunId run, const SearchResult& result,
                     const std::function<std::string(const std::string&)>& placed);

/// What `evo run` prints at its end. `database`: as the user named it, for the commands that are suggested next.
std::string run_text(const RunSummary& summary, const std::string& database, const Terminal& terminal);

}  // namespace evo::cli
