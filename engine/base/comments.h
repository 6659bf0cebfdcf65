#pragma once

#include <string>
#include <string_view>

namespace evo {

/// A line of C++ without its comments. `in_comment`: whether it begins within one; afterwards, whether the next line
/// does. Texts in quotes are not looked at.
std::string without_comments(std::string_view line, bool& in_comment);

}  // namespace evo
