#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evo {

/// What stands for a hole, by the hole's name.
using Replacements = std::vector<std::pair<std::string_view, std::string>>;

/// One of the texts here with its holes filled. A hole is written __NAME__, so that Python with holes is Python. One
/// alone on its line stands for any number of lines, each indented as the hole is. What fills a hole is not searched
/// for holes.
std::string filled(std::string_view text, const Replacements& values);

}  // namespace evo
