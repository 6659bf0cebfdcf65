#pragma once

#include <string_view>

#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Throws usage_error for a target with a shape that is so much work for the kind of device that its reference would
/// not answer in time, after minutes.
void require_feasible(const Task& task, const Target& target, std::string_view device_kind);

}  // namespace evo::cli
