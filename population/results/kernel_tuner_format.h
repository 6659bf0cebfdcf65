#pragma once

#include <optional>
#include <string>
#include <vector>

#include "population/results/description.h"

namespace evo {

/// A Kernel Tuner cache file (its schema cache/1.1.0). Times are in milliseconds; failures are InvalidConfig,
/// CompilationFailedConfig or RuntimeFailedConfig. Each parameter needs a value there: an inactive gene has its first
/// value, and the entry's member "inactive" names it. The member "evo" is the description.
std::string kernel_tuner_text(const Results& results);

/// Empty unless evo wrote the file in this format.
std::optional<JsonPlace> kernel_tuner_description(const JsonPlace& root);

/// Throws usage_error naming the place.
std::vector<ResultRow> read_kernel_tuner(const JsonPlace& root, const Description& description);

}  // namespace evo
