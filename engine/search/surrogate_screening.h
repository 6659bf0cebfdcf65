#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/search/latency_predictor.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// How many proposals stand for each that is asked.
struct Screen {
  std::size_t among = 4;
  /// So many are chosen at once, among as many times more: predictor has work for every core.
  std::size_t together = 4;
  /// Of a search that is stuck; none where `by` names no strategy.
  struct Rehearsing {
    std::string by;  ///< The strategy that presearches.
    std::uint64_t seed = 0;
    std::size_t after = 32;     ///< Answers of what was asked without half a percent of progress.
    std::size_t genomes = 128;  ///< That are predicted.
  } presearching = {};
};

/// `strategy`, of whose proposals only those with the least expected latencies are asked. Of the others the
/// strategy is told the latency to be expected, or that they failed; but those that come within a few percent of the
/// best so far stand again beside the next. So its best is always measured. What is expected is what is predicted,
/// corrected by what measurements have shown of predictor's error (prediction_error.h). Where the search is stuck, a
/// presearch (presearch.h) goes by what is expected now, and its best are asked (operator "rehearsed"). One of which
/// nothing can be told stands in the middle, and if it is not asked nothing is told of it. Duplicates, whose program
/// was asked before, are told what that one is told; one is asked only where a whole batch is of duplicates. Genomes
/// that others offer are not screened: one that the strategy has proposed itself is asked too, unless it was asked
/// already or is a duplicate; where the strategy was told what to expect of it, it is told no more. `space`, the
/// strategy's, and `predictor` must outlive it.
std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, const Space& space,
                                        LatencyPredictor& predictor, Screen screen);

}  // namespace evo
