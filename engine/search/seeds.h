#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// A genome that is good elsewhere: for other shapes, on another device, for another objective or version of
/// the task.
struct Seed {
  Genome genome;
  std::string origin;  ///< Where it is from, for people.
};

/// How many of a ranking are worth looking at, where a predictor can choose among them.
inline constexpr std::size_t kSeedCandidates = 100;

/// The seeds that open a search, from several rankings, each best first, as genomes of `space`: alleles that
/// it does not know are dropped and the nearest legal genome is taken. Rankings take turns, no genome stands
/// twice, and those of families that it does not have are left out. These are the three best of each ranking,
/// ten in all.
std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings);
/// The same, but of the best kSeedCandidates the five that are predicted the least latencies. None that is
/// bound to fail; where nothing can be told, the order of the rankings decides. None at all when predictor was
/// told to stop.
std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings,
                           LatencyPredictor& predictor);

/// `strategy` with these as its first proposals, of the operator "seed". They must be legal.
std::unique_ptr<Strategy> make_seeded(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds);

}  // namespace evo
