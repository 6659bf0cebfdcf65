#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace evo {

/// One of the values, the upper of two in the middle. There must be one.
inline double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace evo
