#pragma once

#include <string_view>
#include <vector>

#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Shapes that are long in one parameter and as small as may be in the others, where sums are longest: one for each
/// specialisation of the target's timed shapes and each parameter that is not specialised. They are as long as the
/// device kind can check, at most 2^17.
std::vector<Shape> long_shapes(const Task& task, const Target& target, std::string_view device_kind);

}  // namespace evo::cli
