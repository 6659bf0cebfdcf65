#pragma once

#include "evaluator/device/device_backend.h"

namespace evo::cuda {

/// The kind of every CUDA GPU: "cuda:N".
DeviceBackend device_backend();

}  // namespace evo::cuda
