#pragma once

#include "evaluator/device/device_backend.h"

namespace evo::vgpu {

/// The kind of every virtual GPU: "vgpu:MODEL", or "vgpu" for the default model.
DeviceBackend device_backend();

}  // namespace evo::vgpu
