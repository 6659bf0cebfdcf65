#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/replay/recording.h"

namespace evo::cli {

/// The whole file, decompressed when it is gzipped. Throws usage_error when it is missing, damaged or cut off,
/// machine_error when it cannot be opened.
std::string read_text(const std::filesystem::path& path);

/// Whether a file's text is that of an SQLite database.
bool is_database(std::string_view text);

/// The recorded spaces of a file: results in any format of read_recording, or a database of runs, which has
/// one for each task, device and objective. They are named after the file. Throws usage_error for anything
/// else.
std::vector<Recording> open_recordings(const std::filesystem::path& path);

}  // namespace evo::cli
