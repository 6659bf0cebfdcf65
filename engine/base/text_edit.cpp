#include "engine/base/text_edit.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace evo {

SourceTree edited(const SourceTree& tree, const std::vector<TextEdit>& edits) {
  SourceTree result = tree;
  for (const TextEdit& edit : edits) {
    const auto file = result.find(edit.file);
    if (file == result.end()) throw usage_error(fmt::format("there is no file {}", edit.file));
    const std::size_t at = edit.find.empty() ? std::string::npos : file->second.find(edit.find);
    if (at == std::string::npos) throw usage_error(fmt::format("{} does not hold '{}'", edit.file, edit.find));
    if (file->second.find(edit.find, at + 1) != std::string::npos) {
      throw usage_error(fmt::format("{} holds '{}' more than once", edit.file, edit.find));
    }
    file->second.replace(at, edit.find.size(), edit.replace);
  }
  return result;
}

}  // namespace evo
