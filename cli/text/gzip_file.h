#pragma once

#include <filesystem>
#include <string>

namespace evo::cli {

/// A file that may be gzipped, as far as it could be read.
struct GzipFile {
  std::string text;    ///< Decompressed; plain files as they are.
  bool whole = false;  ///< False for one that is damaged, cut off or cannot be read on.
  std::string reason;  ///< Why it is not whole.
};

/// Throws machine_error when the file cannot be opened.
GzipFile read_gzip_file(const std::filesystem::path& path);

}  // namespace evo::cli
