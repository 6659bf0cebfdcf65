#pragma once

#include <cstdint>

#include "engine/task/task.h"

namespace evo {

/// Arithmetic and compulsory memory traffic of one call of a task.
struct Floor {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

/// Throws usage_error that names file and key.
Floor floor_of(const Task& task, const Bindings& options, const Shape& shape);

}  // namespace evo
