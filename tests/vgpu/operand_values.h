#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/vgpu/recorded_case.h"

/// Operands to try instructions on: edge values and random ones.
namespace evo::conformance {

/// What kind of number an operand is: which values are edges and what random ones look like.
enum class Kind : std::uint8_t {
  none,
  f32,
  f64,
  f16,  ///< One in the low half.
  f16x2,
  bf16,
  bf16x2,
  e4m3x2,
  e5m2x2,
  i16,
  i16x2,
  i32,
  i64,
  small,  ///< Shift amounts, lengths, positions: mostly below 70.
  any32,  ///< Random bits.
};

/// A third edges, a third of moderate size, a third any bits.
std::uint64_t random_value(Random& random, Kind kind);

struct Tuple {
  std::uint64_t a = 0, b = 0, c = 0;
};
/// Edge values against each other, then random ones; the same 512 for the same kinds.
std::vector<Tuple> tuples_of(const std::array<Kind, 3>& kinds);

}  // namespace evo::conformance
