#pragma once

#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"

/// Products of a warp (mma.sync, mma.sp and wmma, PTX ISA 9.0, 9.7.14) to record and to compare: every form of
/// tests/data/ptx_forms.txt.
namespace evo::conformance {

/// Operands that probe how sums are computed, each block in another way.
std::vector<Case> matrix_cases();

}  // namespace evo::conformance
