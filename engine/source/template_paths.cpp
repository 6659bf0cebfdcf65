#include "engine/source/template_paths.h"

#include "engine/source/preprocessor_lines.h"

namespace evo::template_paths {

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

namespace {

SourceTree::const_iterator first_of(const SourceTree& tree, const std::string& beside, std::string_view root,
                                    const std::string& path) {
  for (const std::string& place : {beside, std::string(root) + path})
    if (const auto found = tree.find(place); found != tree.end()) return found;
  return tree.find(path);
}

}  // namespace

SourceTree::const_iterator find_included(const SourceTree& tree, std::string_view root, std::string_view file,
                                         const std::string& path) {
  return first_of(tree, folder_of(file) + path, root, path);
}

SourceTree::const_iterator find_quoted(const SourceTree& tree, std::string_view root, std::string_view file,
                                       const std::string& path) {
  return first_of(tree, path_beside(file, path), root, path);
}

}  // namespace evo::template_paths
