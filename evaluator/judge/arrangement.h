#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evo {

/// A dim of a dense array, whose last dim is the innermost.
struct NamedDim {
  std::string name;  ///< "S", or "dim 2" where the task has an expression.
  std::uint64_t size = 1;
};

/// The allowed difference of an element: `absolute` + `relative` |want|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  /// Never for a NaN.
  bool holds(double got, double want) const { return std::abs(got - want) <= absolute + relative * std::abs(want); }
};

/// How the values of the last two dims must have been moved to explain `got`: rows or columns exchanged, shifted or
/// permuted within groups, tiles transposed, matrices exchanged. Empty when no such move explains every element.
std::string arrangement_of(std::span<const double> got, std::span<const double> want, const std::vector<NamedDim>& dims,
                           const Tolerance& tolerance);

}  // namespace evo
