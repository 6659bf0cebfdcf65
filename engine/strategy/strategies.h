#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/strategy/evolve_tuning.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// Makes a strategy by its name: one of strategy_names() ("evolve" is the default), or "evolve:NAME=VALUE:..."
/// with other parameters (engine/strategy/evolve_tuning.h). Throws usage_error that lists the names. `space` must
/// outlive the strategy.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const Space& space, std::uint64_t seed);
std::vector<std::string> strategy_names();

/// Model-based search: a forest learns latencies from genes and ranks a pool of neighbours of the best and of random
/// genomes; a stalled climb is followed by another one. No population, no crossover (engine/strategy/evolve_climb.h).
std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed, const EvolveTuning& tuning = {});
// Baselines, as the literature has them, but never asking twice.
std::unique_ptr<Strategy> make_random(const Space& space, std::uint64_t seed);
/// In index order. Throws usage_error for a space too large to index.
std::unique_ptr<Strategy> make_exhaustive(const Space& space);
std::unique_ptr<Strategy> make_annealing(const Space& space, std::uint64_t seed);
std::unique_ptr<Strategy> make_genetic(const Space& space, std::uint64_t seed);
/// Hill climbing from random starts.
std::unique_ptr<Strategy> make_local(const Space& space, std::uint64_t seed);

/// Several strategies of that name that search the front of latency over error together: one seeks the least latency,
/// the others weigh the error, too. Throws as make_strategy does.
std::unique_ptr<Strategy> make_front(const std::string& name, const Space& space, std::uint64_t seed);

}  // namespace evo
