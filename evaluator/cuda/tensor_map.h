#pragma once

#include <cuda.h>

#include <optional>

#include "evaluator/cuda/driver.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// Encodes a TMA descriptor over a buffer at `address`: elements beyond the edge read as zero, no interleave.
/// `failure` is set, with the reason, when the driver or a rank refuses it (cuTensorMapEncodeTiled's
/// requirements).
CUtensorMap encode_tensor_map(const Driver& driver, const TensorMap& map, DeviceAddress address,
                              std::optional<Failure>& failure);

}  // namespace evo::cuda
