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

/// What predictor does in a search.
struct Guidance {
  std::size_t screen = 1;    ///< Proposals for each that is asked (screen.h); 1: no screen.
  bool presearches = false;  ///< Whether a screened search presearches where it is stuck.
};

/// The strategy `name` as a search walks it: first `opening`, then what it proposes, under a screen.
/// `predictor` may be null where there is none. It and `space` must outlive the strategy. Throws as
/// make_strategy.
std::unique_ptr<Strategy> make_guided(const std::string& name, const Space& space, std::uint64_t seed,
                                      LatencyPredictor* predictor, const Guidance& guidance, std::vector<Seed> opening);

}  // namespace evo
