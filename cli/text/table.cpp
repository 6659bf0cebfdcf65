#include "cli/text/table.h"

#include <algorithm>
#include <cassert>

namespace evo::cli {
namespace {

constexpr std::size_t kGap = 2;             // Spaces between columns.
constexpr std::size_t kNarrowestWrap = 24;  // With less room the last column is not wrapped.

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return right ? fill + text : text + fill;
}

/// The lines of a text of at most `width` columns (0: no limit). Lines break at spaces; a longer word stays whole.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  if (width == 0 || display_width(text) <= width) return {text};
  std::vector<std::string> lines;
  std::string line;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    begin = end + 1;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

Table::Table(const std::vector<std::string>& headings) {
  for (const std::string& heading : headings) {
    right_.push_back(heading.starts_with('>'));
    headings_.push_back(heading.substr(right_.back() ? 1 : 0));
  }
}

void Table::add(std::vector<std::string> cells, Style style) {
  assert(cells.size() == headings_.size());
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back({std::move(cells), style});
}

std::string Table::text(const Terminal& terminal, std::size_t indent) const {
  std::vector<std::size_t> widths;
  std::size_t before_last = indent;
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    std::size_t width = display_width(headings_[i]);
    for (const Row& row : rows_) width = std::max(width, display_width(row.cells[i]));
    widths.push_back(width);
    if (i + 1 < headings_.size()) before_last += width + kGap;
  }
  const bool wraps = terminal.columns >= before_last + kNarrowestWrap;
  const std::size_t last_width = wraps ? terminal.columns - before_last : 0;

  std::string out;
  const auto print = [&](const std::vector<std::string>& cells, Style style) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
      line += padded(cells[i], widths[i], right_[i]) + std::string(kGap, ' ');
    }
    // A right-aligned column is not wrapped.
    if (right_.back()) {
      line += padded(cells.back(), widths.back(), true);
      out += styled(terminal, style, without_trailing_spaces(line)) + '\n';
      return;
    }
    for (const std::string& piece : wrapped(cells.back(), last_width)) {
      out += styled(terminal, style, without_trailing_spaces(line + piece)) + '\n';
      line.assign(before_last, ' ');
    }
  };
  if (!rows_.empty() && !std::ranges::all_of(headings_, &std::string::empty)) print(headings_, Style::bold);
  for (const Row& row : rows_) print(row.cells, row.style);
  return out;
}

}  // namespace evo::cli
