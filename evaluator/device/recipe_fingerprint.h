#pragma once

#include <string>

#include "evaluator/device/inputs.h"

namespace evo {

/// Equal recipes, and no others, have equal fingerprints. A worker takes one for every case that it runs, some hundred
/// for each candidate: it takes about a microsecond.
std::string fingerprint(const CaseRecipe& recipe);

}  // namespace evo
