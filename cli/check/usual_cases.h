#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/judge/cases.h"

namespace evo::cli {

/// A fixed one: what is run here is not a search whose inputs must be new.
inline constexpr std::uint64_t kUsualSalt = 1;

/// One case of each shape of a target, the cheapest shape first: the first regime's, whose inputs are the task's usual
/// ones.
std::vector<Case> usual_cases(const Task& task, const Target& target);

/// One case of each of the target's regimes at its first timed shape, the usual regime first.
std::vector<Case> cases_of_regimes(const Task& task, const Target& target);

}  // namespace evo::cli
