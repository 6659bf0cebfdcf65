#pragma once

#include <string_view>

namespace evo {

/// Whether two texts of CUDA C++ templates differ at most in comments, blanks, and names of variables. Directives count
/// as they are written, and texts without code are like no others. It may miss such pairs, but names none that differ
/// in what they compute.
bool nearly_same(std::string_view a, std::string_view b);

}  // namespace evo
