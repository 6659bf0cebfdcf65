#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"

namespace evo {

/// Where a seed that a presearch found is from.
inline constexpr std::string_view kPresearched = "a rehearsal";

/// A search by predictor alone, before anything is measured.
struct Presearch {
  std::size_t genomes = 512;  ///< That are predicted, over all climbs.
  std::size_t climbs = 2;     ///< Searches from random genomes of their own.
  std::size_t together = 32;  ///< PredictedLatency at once: predictor has work for every core.
  std::size_t kept = 4;
};

/// What searches by `strategy` find that are told predicted latencies for measured ones: those that are predicted the
/// least latencies, best first, no two of which make the same program or differ in one gene alone. `out_of_time` is
/// asked between batches and may be empty. It ends a presearch early, as does a predictor that was told to stop: what
/// was predicted until then counts. Throws as make_strategy.
std::vector<Seed> run_presearch(const Space& space, std::string_view strategy, std::uint64_t seed,
                                LatencyPredictor& predictor, const Presearch& presearch,
                                const std::function<bool()>& out_of_time = {});

}  // namespace evo
