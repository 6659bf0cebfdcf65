#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"

namespace evo {

/// A change of one template file: `find` occurs in it exactly once.
struct TextEdit {
  std::string file;  ///< Path in the tree.
  std::string find;
  std::string replace;
};

/// The tree after the edits, made in order. Throws usage_error where an edit does not fit its file.
SourceTree edited(const SourceTree& tree, const std::vector<TextEdit>& edits);

}  // namespace evo
