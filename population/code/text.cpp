#include "population/code/text.h"

#include <algorithm>

#include "engine/source/template.h"

namespace evo {

std::string rendered(std::string_view text, const Bindings& values) {
  constexpr const char* kName = "exported text";
  return render_template({{kName, std::string(text)}}, kName, values);
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
