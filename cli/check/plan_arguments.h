#pragma once

#include <string>
#include <vector>

#include "engine/task/plan.h"

namespace evo::cli {

/// What a launch passes and the kernel takes otherwise: another number of arguments, another size, a whole number for a
/// floating-point one. One line each. `ptx`: of the program.
std::vector<std::string> wrong_arguments(const std::string& ptx, const Plan& plan, const Launch& launch);

}  // namespace evo::cli
