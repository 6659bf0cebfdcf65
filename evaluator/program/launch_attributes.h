#pragma once

#include <cstddef>

#include "evaluator/program/work.h"

namespace evo::program {

/// Attributes of a launch: an array of cudaLaunchAttribute, or of CUlaunchAttribute, which has the same layout.
void take_attributes(KernelLaunch& launch, const void* attributes, unsigned count);

}  // namespace evo::program
