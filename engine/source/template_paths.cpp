#include "engine/source/template_paths.h"

#include "engine/source/preprocessor_lines.h"

namespace evo::template_paths {

std::string folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

SourceTree::const_iterator find_included(const SourceTree& tree, std::string_view file, const std::string& path) {
  const auto beside = tree.find(folder_of(file) + path);
  return beside == tree.end() ? tree.find(path) : beside;
}

SourceTree::const_iterator find_quoted(const SourceTree& tree, std::string_view file, const std::string& path) {
  const auto beside = tree.find(path_beside(file, path));
  return beside == tree.end() ? tree.find(path) : beside;
}

}  // namespace evo::template_paths
