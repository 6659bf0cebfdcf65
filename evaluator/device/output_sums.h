#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/record/record.h"

namespace evo {

/// What an output is compared for, where it lies.
struct ComparedFor {
  std::uint64_t row = 0;  ///< Elements of one, where rows count; 0: they do not.
  bool exact = false;
  bool elementwise = false;  ///< Against atol + rtol |want|.
  double atol = 0, rtol = 0;
  bool steps = false;   ///< Of the output's format, between an element and the right one.
  bool change = false;  ///< From what the output held before the call.
};

EVO_RECORD(ComparedFor, row, exact, elementwise, atol, rtol, steps, change);

/// What a comparison found over all elements of an output: what evo_compare (judge_kernels.cu) sums up. `first_...`:
/// the lowest such element. Elements that both are NaN or the same infinity count as zeros.
struct OutputSums {
  double difference_squared = 0, want_squared = 0, got_squared = 0, dot = 0, max_abs = 0;
  double worst_element = 0;  ///< The largest |got - want| over atol + rtol |want|.
  std::uint64_t elements = 0;
  std::uint64_t not_finite = 0;  ///< Elements of which one is not, and the other is not the same. Not compared.
  std::uint64_t unequal = 0, first_unequal = 0;
  std::uint64_t beyond = 0, first_beyond = 0;
  std::uint64_t off_by_one = 0, further_off = 0, first_further_off = 0;
  double row_l2 = 0, rows_that_count = 0;
  std::uint64_t worst_row = 0;
  /// Of (got - right)^2, (right - before)^2 and the larger of right^2 and before^2, `right` as the format holds it; and
  /// the two largest (got - right)^2 of elements that are one step off.
  double change_error = 0, change_squared = 0, change_size = 0, largest_step = 0, next_step = 0;
};

EVO_RECORD(OutputSums, difference_squared, want_squared, got_squared, dot, max_abs, worst_element, elements, not_finite,
           unequal, first_unequal, beyond, first_beyond, off_by_one, further_off, first_further_off, row_l2,
           rows_that_count, worst_row, change_error, change_squared, change_size, largest_step, next_step);

/// Takes a squared error of one step among the two largest.
inline void note_step(OutputSums& sums, double squared) {
  sums.next_step = std::max(sums.next_step, std::min(sums.largest_step, squared));
  sums.largest_step = std::max(sums.largest_step, squared);
}

}  // namespace evo
