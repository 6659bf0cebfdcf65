#include "population/export/text.h"

#include <algorithm>

namespace evo {

std::string filled(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!text.empty()) {
    const auto starts = [&](const auto& entry) { return text.starts_with(entry.first); };
    const auto found = text.front() == '@' ? std::find_if(values.begin(), values.end(), starts) : values.end();
    if (found == values.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += found->second;
      text.remove_prefix(found->first.size());
    }
  }
  return result;
}

std::string wrapped(std::string_view head, const std::vector<std::string>& items, std::string_view tail) {
  constexpr std::size_t kColumns = 110;
  const std::string indent(head.find_first_not_of(' ') + 4, ' ');
  std::string text(head);
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool last = i + 1 == items.size();
    const std::string item = items[i] + (last ? std::string(tail) : ",");
    if (text.size() - line_start + 1 + item.size() > kColumns) {
      text += "\n";
      line_start = text.size();
      text += indent;
    } else if (i > 0) {
      text += " ";
    }
    text += item;
  }
  return text + "\n";
}

std::string comment_safe(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  // A backslash at the end would pull the next line into the comment.
  while (!safe.empty() && (safe.back() == '\\' || safe.back() == ' ')) safe.pop_back();
  return safe;
}

}  // namespace evo
