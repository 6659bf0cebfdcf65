#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace evo {

/// A file that is there and must not be read. No condition around an #include excuses it.
class RefusedFile : public Error {
 public:
  explicit RefusedFile(const std::string& why) : Error(Fault::usage, why) {}
};

/// The text of a file next to the short form. Throws usage_error when it cannot be read, RefusedFile when it must not.
using ReadFile = std::function<std::string(const std::string& path)>;
/// Whether a compiler finds `#include "NAME"` by itself: "cuda_fp16.h".
using IsKnownHeader = std::function<bool(const std::string& name)>;

/// The author's CUDA files, and those that they include by quotes. Paths are relative to the short form. Of files with
/// host code (host_code.h) the device code is left.
class AuthorFiles {
 public:
  AuthorFiles(const ReadFile& read, const IsKnownHeader& known) : read_(read), known_(known) {}

  /// Reads a file and what it includes. Throws usage_error: that it cannot be read, without a place; a file that it
  /// includes is missing or refused, there are too many, or there is template syntax in one, with "FILE:LINE: ".
  void take(const std::string& path);

  /// The text of a file with the texts of what it includes behind it.
  std::string whole_text(const std::string& path) const;

  struct Placed {
    std::string author;  ///< As the author names it.
    std::string inside;  ///< Where it stands in a folder that holds them all, beside each other as the author's do.
    std::string text;
  };
  std::vector<Placed> placed() const;
  /// Where one of them stands.
  std::string inside(const std::string& path) const;

 private:
  struct File {
    std::string text;
    std::vector<std::string> includes;
  };
  void take_includes(const std::string& path, File& file);

  const ReadFile& read_;
  const IsKnownHeader& known_;
  std::map<std::string, File> files_;  // by their paths without "." and inner ".."
  std::size_t bytes_ = 0;
};

}  // namespace evo
