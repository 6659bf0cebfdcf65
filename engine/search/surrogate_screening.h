#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/search/late_predictions.h"
#include "engine/search/latency_predictor.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// How a predictor screens proposals.
struct ScreeningOptions {
  std::size_t among = 4;    ///< Proposals for each that is measured.
  std::size_t ahead = 0;    ///< Asks that pass between the proposals and the use of their predictions.
  std::size_t chances = 4;  ///< Asks in which a proposal competes to be measured.
  /// The pre-search of a search that is stuck.
  struct Presearching {
    std::string by;  ///< The strategy that pre-searches; empty: there is no pre-search.
    std::uint64_t seed = 0;
    std::size_t after = 32;     ///< Measurements without half a percent of progress.
    std::size_t genomes = 128;  ///< Predicted in each pre-search.
    std::size_t together = 32;  ///< Predicted at once.
    std::size_t every = 1;      ///< A batch is spread over this many asks; while everything fails, over one.
    std::size_t kept = 4;       ///< Measured at most.
  } presearching = {};
  /// Records which predictions were late. It must outlive the strategy. Null: each choice waits for all.
  LatePredictions* late = nullptr;
};

/// `strategy` behind a surrogate: of its proposals only those with the greatest expected gains are measured. The
/// expected latency is the predicted one, corrected by the errors seen so far (prediction_error.h). The gain is by how
/// much it falls below the best, times the chance to be valid (chance_valid.h).
///
/// - Each ask takes `among` proposals and begins their predictions. Once they are used, these compete with what the
///   latest asks have left over.
/// - What is asked when depends on answers alone, not on how long predictions take. With `late` a choice does not wait
///   for the slowest ones: these compete as soon as they are there. While `among` are late, an ask takes one proposal
///   less.
/// - While everything fails, all proposals are measured but those that are predicted to fail.
/// - A proposal that is screened out gets its expected latency, or a failure where it is likely to fail, as its answer.
///   One without a prediction counts as the median of those that compete, and is not answered when it is screened out.
/// - A proposal that is expected within a few percent of the best latency so far goes on competing. The best is
///   therefore always measured.
/// - A duplicate makes the same program as a proposal that was measured, and gets that one's answer. Where there are
///   only duplicates, one is measured.
/// - When the search is stuck, a pre-search (presearch.h) by expected latencies runs beside it. Its best genomes are
///   measured (operator "rehearsed").
/// - A genome that others offer is not screened. If the strategy has proposed it before, it is measured as that
///   proposal, unless it was measured already or is a duplicate.
///
/// `space`, the strategy's, and `predictor` must outlive it.
std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, const Space& space,
                                        LatencyPredictor& predictor, ScreeningOptions options);

}  // namespace evo
