#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluator/judge/arrangement.h"

namespace evo {

/// How an output departs from what was wanted.
struct ErrorShape {
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;       ///< Beyond the tolerance.
  std::uint64_t not_finite = 0;  ///< Of `got`.
  std::uint64_t zeros = 0;       ///< Zero where something else was wanted beyond the tolerance.
  std::uint64_t first = 0;       ///< The first wrong element.
  std::uint64_t worst = 0;       ///< The one of the largest error; one that is not finite comes first.
  double got = 0, want = 0;      ///< Of the worst.
  double bias = 0;      ///< Mean signed error over the mean absolute one: 1: always too large, -1: always too small.
  double ratio = 1;     ///< The factor that brings `want` closest to `got` (least squares).
  double residual = 0;  ///< ||got - ratio want|| / ||got||: 0 when the factor explains all.
  double offset = 0;    ///< The mean error.
  double spread = 0;    ///< Standard deviation of the error.
  std::string arrangement;  ///< The right values at wrong places: "columns are exchanged in pairs". Empty: not seen.
  std::vector<std::string> places;  ///< Where the wrong elements are, when they are not everywhere: "D % 2 = 1".
};

/// Sizes of `got` and `want` are the product of the dims. No dims: one element.
ErrorShape error_shape(std::span<const double> got, std::span<const double> want, const std::vector<NamedDim>& dims,
                       const Tolerance& tolerance);

/// "B 0, H 1, S 76, D 3".
std::string place_text(std::uint64_t element, const std::vector<NamedDim>& dims);

/// What the error looks like, in plain words, the most telling first: one phrase each.
std::vector<std::string> in_words(const ErrorShape& shape);

/// A factor that is allowed to differ from what was wanted, because it is the same for all elements of a group.
enum class FreeFactor { none, row, matrix };

/// `want` with each row, or each matrix of the last two dims, multiplied by the factor that brings it closest to `got`.
std::vector<double> with_free_factor(std::span<const double> got, std::span<const double> want,
                                     const std::vector<NamedDim>& dims, FreeFactor free);

}  // namespace evo
