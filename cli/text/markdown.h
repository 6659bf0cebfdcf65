#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo::cli {

/// Columns of a line of Markdown that is no table.
inline constexpr std::size_t kMarkdownColumns = 120;

/// "| a | b |\n". A bar in a cell is escaped; a line break becomes a space.
std::string markdown_row(const std::vector<std::string>& cells);

/// The row of headings and the line below it.
std::string markdown_heading_row(const std::vector<std::string>& cells);

/// The words of a text on lines of at most kMarkdownColumns, which a longer word exceeds. Lines after the first begin
/// with `indent` spaces. Ends with '\n'.
std::string wrapped(std::string_view text, std::size_t indent = 0);

}  // namespace evo::cli
