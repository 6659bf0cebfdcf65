#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/source_tree.h"

namespace evo::cli {

/// The text of a file. Throws usage_error when it cannot be read or has more than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// Writes the whole text, or leaves the file as it was: the text goes to a new file in the same folder, which takes the
/// name once it is on disk. Links are followed; a device or a pipe is written directly. Throws machine_error that says
/// why.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Makes a folder, and those above it, where there is none. Throws machine_error.
void make_folder(const std::filesystem::path& folder);

/// Writes files below a folder, by their paths there; makes the folders that they need. Throws machine_error.
void write_files(const std::filesystem::path& folder, const SourceTree& files);

}  // namespace evo::cli
