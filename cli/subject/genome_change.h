#pragma once

#include <string>

#include "engine/task/genome.h"

namespace evo::cli {

/// "stages 2 -> 3"; "nothing" for equal genomes. Of different families: "family wgmma -> mma_sync" and the genes that
/// both have.
std::string genome_change(const Genome& from, const Genome& to);

}  // namespace evo::cli
