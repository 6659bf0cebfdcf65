#include "cli/text/markdown.h"

#include <sstream>

namespace evo::cli {

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    row += ' ';
    for (const char c : cell) {
      if (c == '|') row += '\\';
      row += c == '\n' ? ' ' : c;
    }
    row += " |";
  }
  return row + '\n';
}

std::string markdown_heading_row(const std::vector<std::string>& cells) {
  std::string below = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) below += "---|";
  return markdown_row(cells) + below + '\n';
}

std::string wrapped(std::string_view text, std::size_t indent) {
  std::istringstream words{std::string(text)};
  std::string lines, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kMarkdownColumns) {
      lines += line + '\n';
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines + line + '\n';
}

}  // namespace evo::cli
