#include "engine/base/stretches.h"

#include <algorithm>

namespace evo {

std::size_t longest_stretch(std::string_view code) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find_first_of(";{}", begin), code.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

std::string without_long_stretches(std::string code) {
  for (std::size_t begin = 0; begin < code.size();) {
    const std::size_t end = std::min(code.find_first_of(";{}", begin), code.size());
    if (end - begin > kLongestStretch) std::fill_n(code.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, ';');
    begin = end + 1;
  }
  return code;
}

}  // namespace evo
