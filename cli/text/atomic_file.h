#pragma once

#include <filesystem>
#include <string_view>

namespace evo::cli {

/// Writes the whole text or leaves what was there: a new file beside it takes its name once it is on disk.
/// Links are followed; a device or a pipe is written directly. Throws machine_error that says why.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace evo::cli
