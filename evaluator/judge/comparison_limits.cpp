#include <algorithm>
#include <cmath>

#include "evaluator/judge/comparison.h"

// Which limit a difference breaks, and how close it comes to one.
namespace evo {
namespace {

double share_off_by_one(const Difference& difference) {
  return static_cast<double>(difference.off_by_one) / static_cast<double>(difference.elements);
}

/// Of a sum in the type that kernels compute in: several of its last bits.
constexpr double kLastBits = 4;

}  // namespace

/// Single errors of one step are excused twice: a last bit in the sum may make a tie of the rounding fall the other
/// way.
double change_of(DType dtype, const OutputSums& sums) {
  if (sums.change_squared == 0) return 0;
  const double last_bit = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
  const double left = std::sqrt(std::max(0.0, sums.change_error - sums.largest_step - sums.next_step)) -
                      kLastBits * last_bit * std::sqrt(sums.change_size);
  return finite_error(std::max(0.0, left) / std::sqrt(sums.change_squared));
}

double closeness(const Difference& difference, const Limits& limits) {
  if (limits.exact) return difference.unequal > 0 ? 2 : 0;
  double closest = difference.worst_element / limits.element_times;
  if (limits.change > 0) closest = std::max(closest, difference.change / limits.change);
  if (limits.off_by_one > 0 && difference.elements > 0)
    closest = std::max(closest, share_off_by_one(difference) / limits.off_by_one);
  if (limits.row_l2 > 0) closest = std::max(closest, difference.row_l2 / limits.row_l2);
  if (limits.relative_l2 > 0) closest = std::max(closest, difference.relative_l2 / limits.relative_l2);
  if (limits.cosine > 0 && limits.cosine < 1) {
    closest = std::max(closest, std::sqrt(std::max(0.0, 1 - difference.cosine) / (1 - limits.cosine)));
  }
  if (limits.max_abs > 0 && difference.want_rms > 0) {
    closest = std::max(closest, difference.max_abs / (limits.max_abs * difference.want_rms));
  }
  return closest;
}

std::optional<Miss> miss_of(const Difference& difference, const Limits& limits) {
  if (difference.not_finite > 0)
    return Miss{.kind = LimitKind::not_finite,
                .elements = difference.not_finite,
                .first = difference.first_not_finite,
                .got = difference.got,
                .reference = difference.reference};
  if (limits.exact) {
    if (difference.unequal == 0) return std::nullopt;
    return Miss{.kind = LimitKind::exact,
                .elements = difference.unequal,
                .first = difference.first_unequal,
                .got = difference.got,
                .reference = difference.reference};
  }
  // Without a size there is no relative error; limits of single elements say what may be there.
  const bool by_element = limits.atol > 0 || limits.off_by_one > 0;
  if (difference.want_rms == 0 && difference.max_abs > 0 && !by_element)
    return Miss{.kind = LimitKind::zero, .error = difference.max_abs};
  // Written so that a NaN fails.
  if (limits.relative_l2 > 0 && !(difference.relative_l2 <= limits.relative_l2))
    return Miss{.kind = LimitKind::relative_l2, .error = difference.relative_l2, .allowed = limits.relative_l2};
  if (limits.cosine > 0 && !(difference.cosine >= limits.cosine))
    return Miss{.kind = LimitKind::cosine, .error = difference.cosine, .allowed = limits.cosine};
  if (limits.max_abs > 0 && !(difference.max_abs <= limits.max_abs * difference.want_rms))
    return Miss{
        .kind = LimitKind::max_abs, .error = difference.max_abs / difference.want_rms, .allowed = limits.max_abs};
  if (limits.row_l2 > 0 && !(difference.row_l2 <= limits.row_l2))
    return Miss{
        .kind = LimitKind::row_l2, .error = difference.row_l2, .allowed = limits.row_l2, .first = difference.worst_row};
  if (!(difference.worst_element <= limits.element_times))
    return Miss{.kind = LimitKind::element,
                .error = difference.worst_element,
                .allowed = limits.element_times,
                .elements = difference.beyond,
                .first = difference.first_beyond,
                .atol = limits.atol,
                .rtol = limits.rtol};
  if (limits.change > 0 && !(difference.change <= limits.change))
    return Miss{.kind = LimitKind::change, .error = difference.change, .allowed = limits.change};
  if (limits.off_by_one > 0 && difference.elements > 0 &&
      (difference.further_off > 0 || share_off_by_one(difference) > limits.off_by_one))
    return Miss{.kind = LimitKind::off_by_one,
                .error = share_off_by_one(difference),
                .allowed = limits.off_by_one,
                .elements = difference.further_off,
                .first = difference.first_further_off};
  return std::nullopt;
}

}  // namespace evo
