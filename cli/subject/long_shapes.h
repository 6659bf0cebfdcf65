#pragma once

#include <string_view>
#include <vector>

#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo::cli {

/// Shapes that are long in one parameter and at most 8 in the others where they may be; on a device that measures 1,
/// where that allows a longer one. For each specialisation of the target's timed shapes and each parameter that is not
/// specialised the longest one whose case costs no more than `most_work` (work_of), at most 2^17, and one of about a
/// quarter of that, which no tile divides.
std::vector<Shape> long_shapes(const Task& task, const Target& target, std::string_view device_kind, double most_work);

}  // namespace evo::cli
