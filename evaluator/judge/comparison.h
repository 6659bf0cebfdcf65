#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/result/mismatch.h"
#include "engine/task/plan.h"
#include "engine/task/task.h"
#include "evaluator/device/output_sums.h"
#include "evaluator/device/row_norms.h"

namespace evo {

/// One output of one case, as the reference computes it. It is dense. Floats become f32; f64 and integers stay.
struct ExpectedOutput {
  DType dtype = DType::f32;
  std::vector<std::byte> bytes;
  std::vector<std::byte> before = {};  ///< What it holds before the call, of this dtype, where floats are then read.
  std::span<const float> floats() const {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
};

/// The elements of a plan's tensor, without what its strides leave out.
std::vector<std::byte> dense_bytes(const PlanTensor& tensor, std::span<const std::byte> raw);

/// The index of the first float that has the bits which outputs are filled with before a call: every bit set, a NaN
/// that no arithmetic gives. Empty for integers.
std::optional<std::uint64_t> first_not_written(DType dtype, std::span<const std::byte> dense);
/// Whether one element has these bits, and the wanted number does not.
bool is_left_as_filled(DType dtype, std::span<const std::byte> dense, std::uint64_t index, double wanted);

/// How far an output is from the oracle, over all of its elements.
struct Difference {
  double relative_l2 = 0;  ///< ||got - want|| / ||want||, or kIncomparable where that is not finite.
  double cosine = 1;       ///< 1 when both are zero, 0 when one is.
  double max_abs = 0;      ///< max |got - want|.
  double want_rms = 0;
  std::uint64_t not_finite = 0;  ///< Elements of which one is NaN or infinite, and the other not the same.
  std::uint64_t first_not_finite = 0;
  double row_l2 = 0;  ///< The largest of a row: ||got - want|| over the larger of its ||want|| and the mean row's.
  std::uint64_t worst_row = 0;
  /// How many rows make up ||want||: all of them where they are alike, one where it dwarfs the others. (sum n^2)^2 /
  /// sum n^4 of their norms n. 0: rows were not looked at.
  double rows_that_count = 0;
  std::uint64_t beyond = 0;  ///< Elements beyond atol + rtol |want|.
  std::uint64_t first_beyond = 0;
  double worst_element = 0;   ///< The largest |got - want| over atol + rtol |want|.
  std::uint64_t unequal = 0;  ///< Elements that are not the oracle's, where that was asked for.
  std::uint64_t first_unequal = 0;
  std::string got, reference;  ///< The values there, or at first_not_finite.
  /// ||got - want|| over ||want - before||, less what a few roundings of the dtype make of it. 0: nothing is to change.
  double change = 0;
  std::uint64_t off_by_one = 0;   ///< Elements that are one step of the dtype from the oracle's, where that was asked.
  std::uint64_t further_off = 0;  ///< Those that are further from it.
  std::uint64_t first_further_off = 0;
  std::uint64_t elements = 0;
};

/// Compares `got` (dense, of `dtype`) with the oracle, as far as the limits ask. NaN equals NaN, and an infinity itself
/// or what the dtype makes of a larger number; such elements do not count. A NaN that was never written is none. Sums
/// are in double, over fixed chunks, so the result does not depend on the number of threads. `row`: elements of the
/// last dimension. Throws machine_error when the sizes differ.
Difference compare(DType dtype, std::span<const std::byte> got, const ExpectedOutput& want, const Limits& limits,
                   std::uint64_t row);

/// Over all elements of an oracle of floats, without rows.
Difference compare(DType dtype, std::span<const std::byte> got, std::span<const float> want);

/// The same from the sums of a comparison that a device made. Where elements are not finite it says only how many.
/// `dtype`: of the output.
Difference difference_of(const OutputSums& found, DType dtype);
/// Difference::change of an output of this dtype.
double change_of(DType dtype, const OutputSums& sums);

/// The first limit that a difference breaks; empty when it is accepted. An unset limit (0) checks nothing. A value that
/// is not finite passes only where the reference has it. A reference of zeros wants zeros, or has limits of elements.
std::optional<Miss> miss_of(const Difference& difference, const Limits& limits);

/// How much of the limits a difference takes up: 1 at a limit. A cosine falls with the square of its angle, so the root
/// is taken: twice the error is twice as close.
double closeness(const Difference& difference, const Limits& limits);

/// Reads `count` elements as f32 (wider types are rounded).
void widen(DType dtype, const std::byte* from, std::size_t count, float* to);

}  // namespace evo
