#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/result/evaluation.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// Somebody else's CUDA file and how its kernels are launched, in order, as C++ writes it:
/// "softmax<256><<<dim3(B, 2), 256, 4 * N>>>(x, y, int:N)". Sizes are expressions over the task's parameters and
/// options; arguments are those of family.json: tensors of the task by name, "TYPE:EXPRESSION", or an expression, an
/// int.
struct ForeignKernel {
  std::string file;
  std::vector<std::string> launches;
};

/// Evaluates its device code (engine/source/host_code.h) as a candidate of the task: the same gates, limits and timing.
/// Headers by quotes that lie beside the file are read. Throws usage_error for a launch that
/// cannot be read, with what is wrong in it.
Evaluation evaluate_foreign_kernel(const ForeignKernel& kernel, const SourceTree& tree, const Task& task,
                                   const Target& target, const DeviceInfo& device);

}  // namespace evo::cli
