#pragma once

#include <set>
#include <string>
#include <string_view>

#include "engine/base/source_tree.h"

/// Where the files lie that a template file names. All functions give the tree's end where there is no such file.
namespace evo::template_paths {

/// "t/f/" of "t/f/kernel.cu".
std::string folder_of(std::string_view path);

/// Of `//% include "PATH"` in `file`: next to that file, else in `root`, the folder of the file that is rendered, which
/// may bring its own version, else in the templates folder.
SourceTree::const_iterator find_included(const SourceTree& tree, std::string_view root, std::string_view file,
                                         const std::string& path);

/// Of CUDA's own `#include "PATH"` in `file`: seen from that file, else as above. Elsewhere the compiler looks.
SourceTree::const_iterator find_quoted(const SourceTree& tree, std::string_view root, std::string_view file,
                                       const std::string& path);

/// `file` and all that it may include, whatever the bindings, where a file of the folder `root` is rendered.
std::set<std::string> included_by(const SourceTree& tree, std::string_view root, const std::string& file);

}  // namespace evo::template_paths
