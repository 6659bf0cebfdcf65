#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/search/latency_predictor.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// How a predictor screens proposals.
struct ScreeningOptions {
  std::size_t among = 4;  ///< Proposals for each that is measured.
  /// Proposals chosen at once, to keep every core busy with predictions.
  std::size_t together = 4;
  /// The pre-search of a search that is stuck.
  struct Presearching {
    std::string by;  ///< The strategy that pre-searches; empty: there is no pre-search.
    std::uint64_t seed = 0;
    std::size_t after = 32;     ///< Measurements without half a percent of progress.
    std::size_t genomes = 128;  ///< Predicted in each pre-search.
  } presearching = {};
};

/// `strategy` behind a surrogate: of each batch of its proposals only those with the greatest expected gains are
/// measured. The expected latency is the predicted one, corrected by the errors seen so far (prediction_error.h). The
/// gain is by how much it falls below the best, times the chance to be valid (chance_valid.h).
///
/// - While everything fails, all proposals are measured but those that are predicted to fail.
/// - A proposal that is screened out gets its expected latency, or a failure where it is likely to fail, as its answer.
///   One without a prediction counts as the median of its batch, and is not answered when it is screened out.
/// - A proposal that is expected within a few percent of the best latency so far is kept and competes again in the next
///   batch. The best is therefore always measured.
/// - A duplicate makes the same program as a proposal that was measured, and gets that one's answer. Of a batch of
///   duplicates alone one is measured.
/// - When the search is stuck, a pre-search (presearch.h) by expected latencies runs, and its best genomes are measured
///   (operator "rehearsed").
/// - A genome that others offer is not screened. If the strategy has proposed it before, it is measured as that
///   proposal, unless it was measured already or is a duplicate.
///
/// `space`, the strategy's, and `predictor` must outlive it.
std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, const Space& space,
                                        LatencyPredictor& predictor, ScreeningOptions options);

}  // namespace evo
