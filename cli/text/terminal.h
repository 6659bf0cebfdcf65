#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace evo::cli {

/// What an output stream can show. A stream that is not a terminal has no colour, no live line and no width.
struct Terminal {
  bool interactive = false;
  bool colour = false;      ///< Off when NO_COLOR is set or TERM is dumb.
  std::size_t columns = 0;  ///< 0: unlimited.
};
Terminal terminal_of(std::FILE* stream);

enum class Style { plain, bold, dim, good, bad, warning };

/// `text` in the style where the terminal shows colour, else as it is.
std::string styled(const Terminal& terminal, Style style, std::string_view text);

/// Columns that UTF-8 text takes (one for each code point: names here are not wide characters).
std::size_t display_width(std::string_view text);

/// Text whose control characters other than line breaks and tabs, marks of direction and bytes that are no UTF-8 have
/// become spaces, so that stored text cannot drive the terminal.
std::string printable(std::string_view text);

/// The same, with the codes of `styled` where the terminal shows colour: what may be written to it. What is stored, or
/// comes from files, genes and other hosts, is part of it.
std::string shown(std::string_view text, const Terminal& terminal);

/// printable() as one line: line breaks and tabs become spaces, too.
std::string one_line(std::string_view text);

/// The beginning of a text that has more than `most` bytes, without a part of a character, and `end`; else all of it.
std::string clipped(std::string_view text, std::size_t most, std::string_view end = "");

}  // namespace evo::cli
