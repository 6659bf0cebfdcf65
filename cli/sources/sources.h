#pragma once

#include <string>

#include "population/store/store.h"

namespace evo::cli {

/// The constants that a program is compiled for: "D=64", "B=1 D=64"; empty when nothing is specialised.
std::string specialisation_text(const Bindings& specialisation);

/// The sources of a candidate one after the other; a comment line names the specialisation when there are
/// several.
std::string all_sources(const CandidateRow& row);

}  // namespace evo::cli
