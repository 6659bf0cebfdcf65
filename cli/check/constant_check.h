#pragma once

#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The __constant__ variables that the plan's kernels read, though nothing fills or initialises them: they are zero. By
/// their names in C++.
std::vector<std::string> unfilled_constants(const Binary& binary, const Plan& plan);

}  // namespace evo::cli
