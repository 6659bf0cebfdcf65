#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"

namespace evo {

/// The origin of a seed that a pre-search found, as databases have it.
inline constexpr std::string_view kPresearched = "a rehearsal";

/// A model-only pre-search: a search in which a predictor stands in for the device.
struct Presearch {
  std::size_t genomes = 512;  ///< Predicted in all, over all climbs.
  std::size_t climbs = 2;     ///< Searches, each from its own random genomes.
  std::size_t together = 32;  ///< Genomes predicted at once, to keep every core busy.
  std::size_t kept = 4;       ///< Seeds at most.
};

/// Runs searches by `strategy` that get predicted latencies instead of measured ones. Returns the genomes with the
/// least predicted latencies, best first; no two of them make the same program, and any two differ in more than a sixth
/// of their genes, at least in two.
/// `out_of_time` is asked between batches and may be empty. It ends the pre-search early, as an interrupted predictor
/// does; the genomes predicted until then count. Throws as make_strategy does.
std::vector<Seed> run_presearch(const Space& space, std::string_view strategy, std::uint64_t seed,
                                LatencyPredictor& predictor, const Presearch& presearch,
                                const std::function<bool()>& out_of_time = {});

}  // namespace evo
