#pragma once

#include <vector>

#include "tests/vgpu/conformance/recorded_case.h"

/// What threads do together and what they do to memory, to record and to compare: exchanges and votes of a warp,
/// transposed matrices, barriers that reduce, atomics, bulk reductions, loads and stores of each type.
namespace evo::conformance {

std::vector<Case> warp_cases();

}  // namespace evo::conformance
