#pragma once

#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/task/genome.h"

namespace evo {

/// Ways to make a genome from others. Results are legal and canonical; they may equal a parent when the space
/// offers nothing else.
Genome mutate_one(const Space& space, const Genome& parent, Rng& rng);      ///< One gene to any other allele.
Genome mutate_several(const Space& space, const Genome& parent, Rng& rng);  ///< Two to four genes.
Genome step_neighbour(const Space& space, const Genome& parent,
                      Rng& rng);                                       ///< One number to the value beside.
Genome swap_slot(const Space& space, const Genome& parent, Rng& rng);  ///< One slot or category.
Genome crossover(const Space& space, const Genome& a, const Genome& b,
                 Rng& rng);  ///< Uniform; of two families: `a` mutated.

}  // namespace evo
