#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/task/task.h"

namespace evo {

/// How far an output is from the oracle, over all of its elements.
struct Difference {
  double relative_l2 = 0;  ///< ||got - want|| / ||want||, or kIncomparable where that is not finite.
  double cosine = 1;       ///< 1 when both are zero, 0 when one is.
  double max_abs = 0;      ///< max |got - want|.
  double want_rms = 0;
  std::uint64_t not_finite = 0;  ///< Elements of `got`.
  std::uint64_t first_not_finite = 0;
};

/// Stands for an infinite error. It is finite, so that every stored format can hold it.
inline constexpr double kIncomparable = 1e30;

/// Compares `got` (dense, of `dtype`) with the oracle. Sums are in double, over fixed chunks, so the result does not
/// depend on the number of threads. Throws machine_error when the sizes differ.
Difference compare(DType dtype, std::span<const std::byte> got, std::span<const float> want);

/// Why a difference is not accepted, with the figure and its limit; empty when it is. An unset limit (0) checks
/// nothing, but a value that is not finite never passes, and a reference that is all zero wants zeros.
std::optional<std::string> why_wrong(const Difference& difference, const Limits& limits);

/// How much of the limits a difference takes up: 1 at a limit. A cosine falls with the square of its angle, so the root
/// is taken: twice the error is twice as close.
double closeness(const Difference& difference, const Limits& limits);

/// Reads `count` elements as f32 (f64 and s32 are rounded).
void widen(DType dtype, const std::byte* from, std::size_t count, float* to);

}  // namespace evo
