#include "engine/expression/interval.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

namespace evo::expr {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr Interval kUndecided = {0, 1};

// For operators that are monotone in each operand: the extremes are at the corners.
std::optional<Interval> from_corners(Op op, Interval a, Interval b) {
  Interval all = {kMax, kMin};
  try {
    for (const std::int64_t x : {a.lo, a.hi}) {
      for (const std::int64_t y : {b.lo, b.hi}) {
        const std::array<Value, 2> operands = {x, y};
        const std::int64_t result = integer(operate(op, operands));
        all = {std::min(all.lo, result), std::max(all.hi, result)};
      }
    }
  } catch (const Failure&) {
    return std::nullopt;
  }
  return all;
}

std::int64_t log2_of_positive(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

bool holds_zero(Interval a) {
  return a.lo <= 0 && a.hi >= 0;
}

// The remainder has the dividend's sign and is smaller than the divisor.
std::optional<Interval> remainder(Interval a, Interval b) {
  if (holds_zero(b)) return std::nullopt;
  // The larger magnitude of the divisor, less one; written so that the most negative number does not
  // overflow.
  const std::int64_t most = b.lo > 0 ? b.hi - 1 : -(b.lo + 1);
  return Interval{a.lo < 0 ? std::max(a.lo, -most) : 0, a.hi > 0 ? std::min(a.hi, most) : 0};
}

std::optional<Interval> bits(Op op, Interval a, Interval b) {
  if (a.lo < 0 || b.lo < 0) return Interval{kMin, kMax};
  if (op == Op::bit_and) return Interval{0, std::min(a.hi, b.hi)};
  // No bit above the highest of either operand can be set.
  const auto highest = static_cast<std::uint64_t>(std::max(a.hi, b.hi));
  const auto limit = static_cast<std::int64_t>((std::uint64_t{1} << std::bit_width(highest)) - 1);
  return Interval{std::max(a.lo, b.lo), limit};
}

Interval decided(bool value) {
  return {value, value};
}

Interval compare(Op op, Interval a, Interval b) {
  switch (op) {
    case Op::less:
      return a.hi < b.lo ? decided(true) : a.lo >= b.hi ? decided(false) : kUndecided;
    case Op::less_equal:
      return a.hi <= b.lo ? decided(true) : a.lo > b.hi ? decided(false) : kUndecided;
    case Op::greater:
      return compare(Op::less, b, a);
    case Op::greater_equal:
      return compare(Op::less_equal, b, a);
    case Op::equal:
      if (a.hi < b.lo || b.hi < a.lo) return decided(false);
      return a.single() && b.single() ? decided(true) : kUndecided;
    default: {
      const Interval same = compare(Op::equal, a, b);
      return same.single() ? decided(!same.lo) : kUndecided;
    }
  }
}

}  // namespace

std::optional<Interval> interval_of(Op op, Interval a) {
  switch (op) {
    case Op::negate:
      return from_corners(Op::subtract, {0, 0}, a);
    case Op::logical_not:
      return holds_zero(a) ? (a.single() ? decided(true) : kUndecided) : decided(false);
    case Op::is_pow2:
      return a.hi <= 0 ? decided(false) : kUndecided;
    case Op::log2:
      if (a.lo <= 0) return std::nullopt;
      return Interval{log2_of_positive(a.lo), log2_of_positive(a.hi)};
    default:
      throw std::logic_error("not a unary operator");
  }
}

std::optional<Interval> interval_of(Op op, Interval a, Interval b) {
  if (is_comparison(op)) return compare(op, a, b);
  switch (op) {
    case Op::modulo:
      return remainder(a, b);
    case Op::bit_and:
    case Op::bit_or:
      return bits(op, a, b);
    case Op::divide:
    case Op::floor_divide:
    case Op::ceil_divide:
      if (holds_zero(b)) return std::nullopt;
      return from_corners(op, a, b);
    default:
      return from_corners(op, a, b);
  }
}

}  // namespace evo::expr
