#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace evo {

/// The median; of two middle values the larger. There must be at least one value.
inline double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace evo
