#pragma once

#include "engine/task/task.h"

namespace evo {

/// The default limits of an output of this dtype. Integers are exact.
Limits usual_limits(DType dtype);

/// The limits of an output of a task: its own that apply under the options; else exact for integers without a scale;
/// else `objective`; else the dtype's default. Without a limit of rows, one follows from relative_l2. An output of
/// floats that is read and written has a limit of its change.
Limits limits_of_output(const Task& task, const Tensor& output, const Bindings& options, const Limits& objective);

}  // namespace evo
