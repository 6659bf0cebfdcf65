#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// A measured kernel and what the cost model says of it.
struct PredictionPair {
  CandidateId candidate = 0;
  double predicted_us = 0;
  double measured_us = 0;
};

/// How well the cost model predicts latencies of a board.
struct Predictions {
  std::string model;                       ///< The virtual GPU: "vgpu:h200"; empty when there are no pairs.
  std::vector<PredictionPair> pairs;       ///< By measured latency.
  std::size_t failed = 0;                  ///< Kernels that could not be modelled, or were predicted to fail.
  std::optional<double> rank_correlation;  ///< Of three pairs and more.
  std::string why_none;                    ///< Why there are no pairs, for people.
};

/// Models at most `most` valid kernels among the outcomes, evenly spread over the ranks of their latencies, the fastest
/// among them, on all usable cores. `run`: one of the board. A line on stderr says what takes the time.
Predictions predictions_of(const Store& store, const RunRow& run, const std::vector<OutcomeRow>& outcomes,
                           std::size_t most);

}  // namespace evo::cli
