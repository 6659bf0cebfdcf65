#pragma once

#include <string>
#include <string_view>

#include "population/results/results.h"

namespace evo {

/// The strategy of a run that was not made here but imported.
inline constexpr std::string_view kImported = "import";

/// Results from the text of kernel_tuner_text or t4_text, without families. What T4 does not tell (which
/// failure it was exactly, errors) is lost. Throws usage_error naming `file` and the place: also for a file
/// that evo has not written, which does not say what it ranks by.
Results read_results(std::string_view text, const std::string& file);

/// Stores them as a finished run with kImported as its strategy. Its candidates have no sources, so none of
/// them becomes an elite. `command`: as typed.
RunId import_results(Store& store, const Results& results, const std::string& command);

}  // namespace evo
