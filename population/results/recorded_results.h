#pragma once

#include <string>
#include <string_view>

#include "population/results/results.h"

namespace evo {

/// The id of the device of results that another tuner recorded.
inline constexpr std::string_view kRecordedElsewhere = "recorded";

/// What a file of another tuner holds (engine/replay/recording_read.h), as results with a ranking of their own: the
/// task is called as the file's kernel, its hash is that of the genes, the device is called as in the file. Its id
/// is kRecordedElsewhere: nothing says that the kernels were right. Throws as read_recording does.
Results recorded_results(std::string_view text, const std::string& file);

}  // namespace evo
