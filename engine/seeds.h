#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/strategy.h"

namespace evo {

/// A genome that is good elsewhere: for other shapes, on another device, for another objective or version of
/// the task.
struct Seed {
  Genome genome;
  std::string origin;  ///< Where it is from, for people.
};

/// No more seeds than this open a search.
inline constexpr std::size_t kMaxSeeds = 10;

/// The elites of several rankings, each best first, as genomes of `space`: alleles that it does not know are
/// dropped and the nearest legal genome is taken. Rankings take turns, no genome stands twice, and those of
/// families that it does not have are left out.
std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings);

/// `strategy` with these as its first proposals, of the operator "seed". They must be legal.
std::unique_ptr<Strategy> make_seeded(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds);

}  // namespace evo
