#pragma once

#include <cstdint>

#include "engine/device/device_kind.h"
#include "engine/task/task.h"

namespace evo {

/// Arithmetic and compulsory memory traffic of one call of a task.
struct Floor {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

/// Throws usage_error that names file and key.
Floor floor_of(const Task& task, const Bindings& options, const Shape& shape);

/// What a case of one call costs on devices of a kind, in flops: its arithmetic, and its bytes, which are drawn, copied
/// and compared (DeviceKind::work_per_byte). Throws as floor_of does.
double work_of(const Task& task, const Bindings& options, const Shape& shape, const DeviceKind& kind);

}  // namespace evo
