#pragma once

#include "engine/task/task.h"

namespace evo {

/// What an output of this dtype may differ by where the task says nothing. Integers are exact.
Limits usual_limits(DType dtype);

/// The limits of an output of a task: its own; else exact for integers without a scale; else `objective`, or, where the
/// task gives none, what the dtype allows. Rows get a limit from relative_l2 where none is given.
Limits limits_of_output(const Task& task, const Tensor& output, const Bindings& options, const Limits& objective);

}  // namespace evo
