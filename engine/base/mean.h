#pragma once

#include <cmath>
#include <span>

namespace evo {

/// The geometric mean of positive numbers; 1 when there are none.
inline double geometric_mean(std::span<const double> values) {
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return values.empty() ? 1 : std::exp(logarithms / static_cast<double>(values.size()));
}

}  // namespace evo
