#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/text/terminal.h"
#include "population/store/store.h"

namespace evo::cli {

/// What became of the candidates that one operator of edits made.
struct EditCount {
  std::string made_by;  ///< An operator; "crossover": of lists of edits; "reduction": fewer edits.
  std::uint64_t proposed = 0;
  std::uint64_t built = 0;
  std::uint64_t right = 0;   ///< Valid, and still so after the checks of elites.
  std::uint64_t caught = 0;  ///< Valid at first: a check of elites found them wrong.
  std::uint64_t faster = 0;  ///< Noticeably, than the first parent.
  double best_gain = 1;      ///< The first parent's latency over the candidate's, at most.
};

/// The best of a run's candidates that were made by edits, and the edits that matter in it.
struct BestEdited {
  OutcomeRow best;
  std::size_t edits = 0;
  OutcomeRow reduced;  ///< With the fewest of these edits, and not slower; the best itself if there is none.
  std::size_t reduced_edits = 0;
};

struct EditCounts {
  std::vector<EditCount> counts;  ///< By operator; empty: nothing was edited.
  std::optional<BestEdited> best;
};

/// Whether a candidate with fewer edits is as fast as the best one.
using AsFast = std::function<bool(const OutcomeRow& shorter, const OutcomeRow& best)>;

/// Of modelled latencies: it is not noticeably slower. Of measured ones: timed in turns with the best it is not slower,
/// by `compare`, which must outlive the result.
AsFast as_fast_by(const EliteComparer& compare);

EditCounts edit_counts(const Store& store, const std::vector<OutcomeRow>& outcomes, const AsFast& as_fast);

std::string edit_counts_text(const EditCounts& edits, const Terminal& terminal);
nlohmann::ordered_json edit_counts_json(const EditCounts& edits);

}  // namespace evo::cli
