#pragma once

#include <string>
#include <string_view>

#include "population/results/results.h"

namespace evo {

/// The strategy of a run that was imported.
inline constexpr std::string_view kImported = "import";

/// Stores results as a finished run with kImported as its strategy. Its candidates have no sources, and none of them
/// becomes an elite. `command`: as typed.
RunId import_results(Store& store, const Results& results, const std::string& command);

}  // namespace evo
