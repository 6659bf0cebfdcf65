#pragma once

#include <cstddef>
#include <string_view>

namespace evo {

/// Where a bracket of code that opens at `open`, one of ( [ {, is closed; npos: nowhere.
std::size_t closing_bracket(std::string_view code, std::size_t open);

}  // namespace evo
