#pragma once

#include <cstdint>
#include <vector>

namespace evo {

/// Stands for an infinite error. It is finite, so that every stored format can hold it.
inline constexpr double kIncomparable = 1e30;

/// At most that; also in the place of a NaN.
inline double finite_error(double error) {
  return error <= kIncomparable ? error : kIncomparable;
}

/// What the rows of an output show.
struct RowFindings {
  double row_l2 = 0;  ///< The largest of a row: ||got - want|| over the larger of its ||want|| and the mean row's.
  std::uint64_t worst_row = 0;
  double rows_that_count = 0;  ///< (sum n^2)^2 / sum n^4 of their norms n.
};

/// ||got - want|| and ||want|| of each row.
struct RowNorms {
  std::vector<double> errors, wanted;

  explicit RowNorms(std::uint64_t rows) : errors(rows), wanted(rows) {}

  void set(std::uint64_t row, double error_squared, double want_squared);
  RowFindings findings() const;
};

}  // namespace evo
