#pragma once

#include <vector>

#include "tests/vgpu/conformance/instruction_forms.h"

namespace evo::conformance {

/// The forms of tests/data/ptx_forms.txt whose result depends only on a thread's registers, except those that
/// instruction_forms() has.
std::vector<InstructionForm> listed_forms();

}  // namespace evo::conformance
