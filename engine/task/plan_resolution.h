#pragma once

#include "engine/task/family.h"
#include "engine/task/genome.h"
#include "engine/task/plan.h"
#include "engine/task/task.h"

namespace evo {

/// The host side of a genome for one shape. Throws usage_error naming the part of family.json that cannot be evaluated.
Plan resolve_plan(const Task& task, const Family& family, const Genome& genome, const Bindings& options,
                  const Shape& shape, const Bindings& facts);

/// What the reference writes for an output whose codes have this dtype: floats, doubles where the task asks for them,
/// integers as they are but real values (floats) where they have a scale; with typed outputs the dtype itself.
DType reference_dtype(const Task& task, const Tensor& output, DType dtype);

/// The host side of the task's reference kernel.
Plan reference_plan(const Task& task, const Bindings& options, const Shape& shape);

}  // namespace evo
