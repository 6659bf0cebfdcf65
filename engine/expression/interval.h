#pragma once

#include <cstdint>
#include <optional>

#include "engine/expression/expression_node.h"

namespace evo::expr {

/// All integers from lo to hi; a boolean counts as 0 or 1.
struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;

  bool single() const { return lo == hi; }
};

/// An interval that holds every result of a strict operator for operands from these intervals. Empty when
/// some of them may fail: overflow, division by zero.
std::optional<Interval> interval_of(Op op, Interval a);
std::optional<Interval> interval_of(Op op, Interval a, Interval b);

}  // namespace evo::expr
