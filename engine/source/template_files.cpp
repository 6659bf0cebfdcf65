#include <vector>

#include "engine/base/text.h"
#include "engine/source/preprocessor_lines.h"
#include "engine/source/template.h"
#include "engine/source/template_paths.h"
#include "engine/source/template_syntax.h"

namespace evo {

using template_syntax::directive_of;

namespace {

/// Where `root` is the folder of the file that is rendered.
std::string included_in(const SourceTree& tree, std::string_view root, std::string_view file, std::string_view line) {
  if (const std::string quoted = quoted_include(line); !quoted.empty()) {
    const auto found = template_paths::find_quoted(tree, root, file, quoted);
    return found == tree.end() ? std::string() : found->first;
  }
  const auto directive = directive_of(line);
  if (!directive || directive->word != "include") return {};
  const std::string path(template_syntax::quoted_path(directive->rest));
  const auto found = template_paths::find_included(tree, root, file, path);
  return found == tree.end() ? std::string() : found->first;
}

}  // namespace

std::string included_file(const SourceTree& tree, std::string_view file, std::string_view line) {
  return included_in(tree, "", file, line);
}

std::set<std::string> files_included_by(const SourceTree& tree, const std::string& file) {
  return template_paths::included_by(tree, template_paths::folder_of(file), file);
}

std::set<std::string> template_paths::included_by(const SourceTree& tree, std::string_view root,
                                                  const std::string& file) {
  std::set<std::string> files;
  std::vector<std::string> waiting = {file};
  while (!waiting.empty()) {
    const auto next = tree.find(waiting.back());
    waiting.pop_back();
    if (next == tree.end() || !files.insert(next->first).second) continue;
    for (const std::string& line : split(next->second, '\n'))
      waiting.push_back(included_in(tree, root, next->first, line));
  }
  return files;
}

std::string without_probes(std::string_view source) {
  std::string rest;
  int open = 0;  // blocks within a probe, itself included
  for (std::string_view left = source; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n') == left.npos ? left.npos : left.find('\n') + 1);
    left.remove_prefix(line.size());
    const auto directive = directive_of(line.substr(0, line.find_last_not_of("\r\n") + 1));
    const std::string_view word = directive ? directive->word : std::string_view();
    if (word == "probe" || (open > 0 && (word == "if" || word == "for"))) ++open;
    if (open == 0) rest += line;
    if (open > 0 && word == "end") --open;
  }
  return rest;
}

}  // namespace evo
