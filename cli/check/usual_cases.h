#pragma once

#include <vector>

#include "evaluator/judge/cases.h"

namespace evo::cli {

/// One case of each shape of a target, the cheapest shape first: the first regime's, whose inputs are the task's usual
/// ones.
std::vector<Case> usual_cases(const Task& task, const Target& target);

}  // namespace evo::cli
