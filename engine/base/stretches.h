#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace evo {

/// The most characters that std::regex, which takes of the stack for each, is to match in a row.
inline constexpr std::size_t kLongestStretch = 4000;

/// The length of the longest stretch of a code without ; { }.
std::size_t longest_stretch(std::string_view code);

/// The same code with ';' in place of each stretch without ; { } that is longer than that: code of others has no limit.
std::string without_long_stretches(std::string code);

}  // namespace evo
