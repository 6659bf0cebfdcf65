#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace evo::cli {

/// The text as a gzip file, the same for the same text. Throws machine_error when memory runs out.
std::string gzipped(std::string_view text);

/// The text of a plain or gzipped file, as far as it could be read.
struct GzipFile {
  std::string text;    ///< Decompressed.
  bool whole = false;  ///< False when the file is damaged, cut off or cannot be read to its end.
  std::string reason;  ///< Why it is not whole.
};

/// Throws machine_error when the file cannot be opened, usage_error when it has more than 128 MiB decompressed.
GzipFile read_gzip_file(const std::filesystem::path& path);

}  // namespace evo::cli
