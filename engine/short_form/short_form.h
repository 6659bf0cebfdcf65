#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/expression/value.h"
#include "engine/short_form/author_files.h"

namespace evo {

/// Places in files that were made, and the author's of each: "conv/task.json: inputs[0]", "conv.json: arguments[1]".
using AuthorsPlaces = std::vector<std::pair<std::string, std::string>>;

/// The message with the author's place in the stead of the longest other that it begins with.
std::string with_author(const std::string& message, const AuthorsPlaces& places);

/// A task written in ten lines (docs/templates.md, "Ten lines"), as a task folder.
struct ShortForm {
  std::string task;
  SourceTree files;  ///< TASK/task.json, TASK/reference.cu, TASK/tuned/..., and the author's files in TASK/source/.
  AuthorsPlaces origins;  ///< Where the parts of the folder come from.
  Bindings own = {};      ///< The genes of the author's kernel as it is; empty: it is no genome.

  /// The message with the author's place in the stead of the folder's at its beginning, and with the author's names of
  /// files.
  std::string in_authors_places(const std::string& message) const;
};

/// The one family of a short form.
inline constexpr const char* kTunedFamily = "tuned";

/// Reads FILE.json, which may be a T1 file too (t1_form.h), and the files that it names. What is wrong in the file
/// itself throws usage_error "FILE: KEY: reason"; the folder is read by load_task and load_families as any other.
ShortForm read_short_form(const std::string& file, const ReadFile& read, const IsKnownHeader& known = {});

}  // namespace evo
