#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// Comma-separated values (RFC 4180) under a line of column names. Quotation marks enclose commas, line
/// breaks and, doubled, themselves. Empty lines are left out.
struct Csv {
  struct Row {
    std::size_t line = 0;            ///< Of the text where it begins, from 1.
    std::vector<std::string> cells;  ///< One for each name.
  };
  std::vector<std::string> names;
  std::vector<Row> rows;

  std::optional<std::size_t> column(std::string_view name) const;
};

/// Throws usage_error naming `file` and the line when a row has more or fewer cells than there are names, or a
/// quotation mark is never closed.
Csv read_csv(std::string_view text, const std::string& file);

}  // namespace evo
