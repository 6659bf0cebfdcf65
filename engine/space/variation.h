#pragma once

#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/task/genome.h"

namespace evo {

// Each makes a legal, canonical genome from others. It equals a parent where the space offers nothing else.

/// One gene takes any other allele.
Genome mutate_one(const Space& space, const Genome& parent, Rng& rng);
/// One number takes the next larger or smaller value.
Genome step_neighbour(const Space& space, const Genome& parent, Rng& rng);
/// Uniform crossover. Parents of two families have no genes to exchange: then `a` is mutated.
Genome crossover(const Space& space, const Genome& a, const Genome& b, Rng& rng);

}  // namespace evo
