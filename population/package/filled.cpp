#include "population/package/filled.h"

#include <algorithm>

#include "engine/base/text.h"

namespace evo {
namespace {

using Replacement = Replacements::value_type;

/// The hole that a text begins with; null where it begins with none.
const Replacement* hole_at(std::string_view text, const Replacements& values) {
  if (!text.starts_with("__")) return nullptr;
  text.remove_prefix(2);
  const auto found = std::ranges::find_if(values, [&](const Replacement& value) {
    return text.starts_with(value.first) && text.substr(value.first.size()).starts_with("__");
  });
  return found == values.end() ? nullptr : &*found;
}

std::size_t length_of(const Replacement& hole) {
  return hole.first.size() + 4;
}

std::string within_line(std::string_view line, const Replacements& values) {
  std::string result;
  while (!line.empty()) {
    const Replacement* const hole = hole_at(line, values);
    result += hole ? std::string_view(hole->second) : line.substr(0, 1);
    line.remove_prefix(hole ? length_of(*hole) : 1);
  }
  return result;
}

std::string indented(std::string_view lines, std::string_view indentation) {
  std::string result;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    if (!line.empty()) result += indentation;
    result += line;
    result += '\n';
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return result;
}

}  // namespace

std::string filled(std::string_view text, const Replacements& values) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view words = trim(line);
    const Replacement* const hole = hole_at(words, values);
    if (hole && words.size() == length_of(*hole)) {
      result += indented(hole->second, line.substr(0, line.find('_')));
    } else {
      result += within_line(line, values) + "\n";
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return result;
}

}  // namespace evo
