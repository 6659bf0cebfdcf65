#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/record/record.h"
#include "engine/search/latency_predictor.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// A genome for a warm start. It was good for other shapes, on another device, or for another objective or version of
/// the task.
struct Seed {
  Genome genome;
  std::string origin;  ///< Where it comes from, for people.
};

EVO_RECORD(Seed, genome, origin);

/// How many genomes of each ranking are considered where a predictor can choose among them.
inline constexpr std::size_t kSeedCandidates = 100;

/// The seeds that open a search, from several rankings, each best first. They are made genomes of `space`: unknown
/// alleles are dropped and the nearest legal genome is taken; genomes of unknown families are left out. The
/// rankings are interleaved rank by rank, and no genome occurs twice. At most the three best of each ranking, and ten
/// in all.
std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings);
/// As above, but the five of the best kSeedCandidates with the least predicted latencies. Genomes that are predicted to
/// fail are left out. Among those without a prediction the order of the rankings decides. Empty when the predictor was
/// interrupted.
std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings,
                           LatencyPredictor& predictor);

/// `strategy` with these genomes as its first proposals, under the operator "seed". They must be legal.
std::unique_ptr<Strategy> make_seeded(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds);

}  // namespace evo
