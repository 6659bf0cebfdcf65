#pragma once

#include <string>
#include <string_view>

namespace evo {

/// What follows '#' and a word, as "include", in a line: a part of the line. Empty for other lines.
std::string_view directive_text(std::string_view line, std::string_view word);

/// The path of a line `#include "PATH"`; empty for other lines.
std::string quoted_include(std::string_view line);

/// Where PATH lies seen from `file`, without "." and "..": "util/x.h" of "t/source/a.cu" is "t/source/util/x.h".
std::string path_beside(std::string_view file, std::string_view path);

/// Whether a source says `#pragma once`.
bool is_included_once(std::string_view source);

}  // namespace evo
