#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/source_tree.h"

namespace evo::cli {

/// The text of a file. Throws usage_error when it cannot be read or has more than `most_bytes`.
std::string read_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The same for what people write, in UTF-8, without the mark that some editors put before it. Throws usage_error for
/// UTF-16, and for other bytes that no text has.
std::string read_text_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// The same for a file of a task: text, or numbers as they are (.npy, .bin).
std::string read_task_file(const std::filesystem::path& path, std::uintmax_t most_bytes);

/// What read_text_file makes of a file's content.
std::string plain_text(std::string content, const std::filesystem::path& path);

/// Writes the whole text, or leaves the file as it was: the text goes to a new file in the same folder, which takes the
/// name once it is on disk. Links are followed; a device or a pipe is written directly. Throws machine_error that says
/// why.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Makes a folder, and those above it, where there is none. Throws machine_error.
void make_folder(const std::filesystem::path& folder);

/// Writes files below a folder, by their paths there; makes the folders that they need. Throws machine_error.
void write_files(const std::filesystem::path& folder, const SourceTree& files);

}  // namespace evo::cli
