#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"

namespace evo::cli {

/// Where the time goes, by line of a candidate's first source; empty: unknown.
using LineShareOf = std::function<std::map<std::uint32_t, double>(const Candidate&, const std::vector<Profile>&)>;

}  // namespace evo::cli
