#pragma once

#include <string>
#include <vector>

#include "cli/text/terminal.h"

namespace evo::cli {

/// Aligned columns for people. The last column is wrapped to the terminal's width with a hanging indent.
class Table {
 public:
  /// A column whose heading begins with '>', which is not printed, is aligned to the right. Without any heading there
  /// is no heading line: a list of labels and values.
  explicit Table(const std::vector<std::string>& headings);

  /// One cell for each column.
  void add(std::vector<std::string> cells, Style style = Style::plain);
  bool empty() const { return rows_.empty(); }

  /// Lines end with '\n'; every line starts with `indent` spaces; no trailing spaces. Headings never stand over
  /// nothing: without rows there is no text.
  std::string text(const Terminal& terminal, std::size_t indent = 0) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Style style;
  };
  std::vector<std::string> headings_;
  std::vector<bool> right_;  ///< By column: aligned to the right.
  std::vector<Row> rows_;
};

}  // namespace evo::cli
