#pragma once

#include <cmath>
#include <numeric>
#include <span>

namespace evo {

/// The arithmetic mean of numbers; 0 when there are none.
inline double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The geometric mean of positive numbers; 1 when there are none.
inline double geometric_mean(std::span<const double> values) {
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return values.empty() ? 1 : std::exp(logarithms / static_cast<double>(values.size()));
}

}  // namespace evo
