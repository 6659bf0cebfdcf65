#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"

/// Operands of instructions: edge values and random ones.
namespace evo::conformance {

/// The kind of number that an operand is. It decides the edge values and the random ones.
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

/// One third edge values, one third of moderate size, one third random bits.
std::uint64_t random_value(Random& random, Kind kind);

struct Tuple {
  std::uint64_t a = 0, b = 0, c = 0;
};
/// Pairs of edge values, then random ones; always the same 512 for the same kinds.
std::vector<Tuple> tuples_of(const std::array<Kind, 3>& kinds);

}  // namespace evo::conformance
