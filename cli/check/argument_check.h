#pragma once

#include <string>
#include <vector>

#include "engine/task/family.h"
#include "engine/task/plan.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// Arguments of a plan's launches that differ from the kernels' parameters in number, size or type. One line each:
/// "scale/plain/family.json: launches[0].arguments[2]: int is given, scale takes float".
std::vector<std::string> wrong_arguments(const Binary& binary, const Plan& plan, const Family& family);
/// The same of the reference's launch.
std::vector<std::string> wrong_reference_arguments(const Binary& binary, const Plan& plan, const Task& task);

}  // namespace evo::cli
