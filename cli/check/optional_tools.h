#pragma once

#include <vector>

#include "evaluator/device/device_check.h"

namespace evo::cli {

/// What only some commands need: nvcc, torch, libcurl.
std::vector<Check> check_optional_tools();

}  // namespace evo::cli
