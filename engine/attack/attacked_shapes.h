#pragma once

#include <vector>

#include "engine/device/device_kind.h"
#include "engine/task/candidate.h"
#include "engine/task/target.h"
#include "engine/task/task.h"

namespace evo {

/// The shapes that one kernel is attacked at, and how often each is tried, relative to the others.
struct AttackedShapes {
  std::vector<Shape> shapes;
  std::vector<double> weights;
  /// The same for attacks on long sums: of the shapes whose sums are longest, which may be dear; 0 of the others.
  std::vector<double> long_sums;
};

/// The target's shapes that the kernel has, those that are too much work left out. The task's own are tried oftenest;
/// smaller ones have sums that are too short to tell much. Sums are as long as the parameters of inputs that no output
/// has; where there are none, as those along the rows of inputs; else any may be. Throws usage_error when no shape is
/// left.
AttackedShapes attacked_shapes(const Task& task, const Target& target, const Candidate& candidate,
                               const DeviceKind& kind);

}  // namespace evo
