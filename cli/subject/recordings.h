#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/replay/recording.h"

namespace evo::cli {

/// The whole file, decompressed when it is gzipped. Throws usage_error when it is missing, damaged or cut off,
/// machine_error when it cannot be opened.
std::string read_text(const std::filesystem::path& path);

/// Whether a file begins as an SQLite database does.
bool is_database(const std::filesystem::path& path);

/// The recorded spaces of a file, named after it: results in any format of read_recording, or a database, which holds
/// one space for each task, device and objective. Throws usage_error for any other file.
std::vector<Recording> open_recordings(const std::filesystem::path& path);

}  // namespace evo::cli
