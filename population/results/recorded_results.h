#pragma once

#include <string>
#include <string_view>

#include "population/results/results.h"

namespace evo {

/// What a file of another tuner holds (engine/replay/recording_read.h), as results with a ranking of their own: the
/// task is called as the file's kernel, its hash is that of the genes, the device is called as in the file. RunInfo's
/// evo_version is empty: nothing says that the kernels were right. Throws as read_recording does.
Results recorded_results(std::string_view text, const std::string& file);

}  // namespace evo
