#include "engine/source/preprocessor_lines.h"

#include <filesystem>

#include "engine/base/text.h"

namespace evo {

std::string_view directive_text(std::string_view line, std::string_view word) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  if (!line.starts_with(word)) return {};
  return trim(line.substr(word.size()));
}

std::string quoted_include(std::string_view line) {
  const std::string_view rest = directive_text(line, "include");
  if (!rest.starts_with('"')) return {};
  const auto close = rest.find('"', 1);
  return close == std::string_view::npos ? std::string() : std::string(rest.substr(1, close - 1));
}

std::string path_beside(std::string_view file, std::string_view path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().generic_string();
}

bool is_included_once(std::string_view source) {
  for (std::size_t at = source.find("once"); at != std::string_view::npos; at = source.find("once", at + 1)) {
    const auto begin = source.rfind('\n', at);
    const std::size_t first = begin == std::string_view::npos ? 0 : begin + 1;
    if (directive_text(source.substr(first, source.find('\n', at) - first), "pragma").starts_with("once")) return true;
  }
  return false;
}

}  // namespace evo
