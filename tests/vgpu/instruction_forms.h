#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/vgpu/recorded_case.h"

/// Forms of PTX instructions to record and to compare: each is applied by one thread to each tuple of operands.
namespace evo::conformance {

/// What kind of number an operand is: which values are edges and what random ones look like.
enum class Kind : std::uint8_t {
  none,
  f32,
  f64,
  f16,    ///< One in the low half.
  f16x2,
  bf16,
  bf16x2,
  e4m3x2,
  e5m2x2,
  i16,
  i16x2,
  i32,
  i64,
  small,    ///< Shift amounts, lengths, positions: mostly below 70.
  any32,    ///< Random bits.
};

struct InstructionForm {
  /// PTX over a16 b16 c16 d16 ... d64 and predicates p q r; d is the result.
  std::string snippet;
  std::array<Kind, 3> kinds{};
  int result_bits = 32;
};

std::vector<InstructionForm> instruction_forms();

struct Tuple {
  std::uint64_t a = 0, b = 0, c = 0;
};
/// Edge values against each other, then random ones; the same 512 for the same kinds.
std::vector<Tuple> tuples_of(const std::array<Kind, 3>& kinds);

/// A kernel that leaves d, zero-extended to 64 bits, for each tuple.
Case case_of(const InstructionForm& form);

}  // namespace evo::conformance
