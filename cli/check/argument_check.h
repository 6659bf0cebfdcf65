#pragma once

#include <string>
#include <vector>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// What a launch passes and the kernel takes otherwise: another number of arguments, another size, a whole number for a
/// floating-point one. One line each.
std::vector<std::string> wrong_arguments(const Binary& binary, const Plan& plan, const Launch& launch);

}  // namespace evo::cli
