#pragma once

#include <vector>

#include "engine/replay/recording.h"
#include "engine/space/space.h"
#include "population/store/records.h"

namespace evo {

/// What the genomes of a run say of its families: of one that was imported without its task's files nothing else is
/// known. One for each family, named after it: its genes with the alleles that occur. By name.
std::vector<Recording> recorded_families(const std::vector<OutcomeRow>& outcomes);
/// The same as spaces: each has these genomes of one family and no others.
std::vector<Space> recorded_spaces(const std::vector<OutcomeRow>& outcomes);

}  // namespace evo
