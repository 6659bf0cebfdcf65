#pragma once

#include <string>
#include <string_view>

namespace evo::cli {

/// The unified diff of two texts with three lines of context (what `diff -u` prints); empty when they are
/// equal.
std::string unified_diff(std::string_view a, std::string_view b, std::string_view a_name, std::string_view b_name);

}  // namespace evo::cli
