#pragma once

#include <string>

#include "population/store/store.h"

namespace evo::cli {

/// The sources of a candidate one after the other; a comment line names the specialisation when there are
/// several.
std::string all_sources(const CandidateRow& row);

}  // namespace evo::cli
