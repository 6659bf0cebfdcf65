#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/search/seeds.h"
#include "engine/search/surrogate_screening.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// How a latency predictor takes part in a search.
struct Guidance {
  std::size_t screen = 1;    ///< Proposals for each that is measured (surrogate_screening.h); 1: all are measured.
  bool presearches = false;  ///< Whether a screened search starts a pre-search when it is stuck.
  std::size_t ahead = 0;     ///< Measurements that are begun while a prediction is under way.
  bool front = false;        ///< Whether the front of latency over error is searched (make_front); screens nothing.
  LatePredictions* late = nullptr;  ///< With it a search does not wait for the slowest predictions.
};

/// The strategy `name` as a run uses it: it proposes the genomes of `opening` first, and the predictor screens its own
/// proposals. `predictor` may be null: then nothing is screened. It and `space` must outlive the strategy. Throws as
/// make_strategy does.
std::unique_ptr<Strategy> make_guided(const std::string& name, const Space& space, std::uint64_t seed,
                                      LatencyPredictor* predictor, const Guidance& guidance, std::vector<Seed> opening);

}  // namespace evo
