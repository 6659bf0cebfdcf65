#pragma once

#include <vector>

#include "tests/vgpu/instruction_forms.h"

namespace evo::conformance {

/// The forms of tests/data/ptx_forms.txt whose result follows from a thread's own registers, as kernels can apply them
/// to tuples; without those that instruction_forms() has.
std::vector<InstructionForm> listed_forms();

}  // namespace evo::conformance
