#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/vgpu/conformance/operand_values.h"
#include "tests/vgpu/conformance/recorded_case.h"

/// Forms of PTX instructions to record and to compare. One thread applies each form to one tuple of operands.
namespace evo::conformance {

struct InstructionForm {
  /// PTX over a16 b16 c16 d16 ... d64, t32, t64 and predicates p q r s; d is the result.
  std::string snippet;
  std::array<Kind, 3> kinds{};
  int result_bits = 32;
};

std::vector<InstructionForm> instruction_forms();

/// A kernel that stores d, zero-extended to 64 bits, for each tuple.
Case case_of(const InstructionForm& form);

}  // namespace evo::conformance
