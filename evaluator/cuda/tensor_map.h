#pragma once

#include <cuda.h>

#include <optional>
#include <string>

#include "evaluator/cuda/driver.h"
#include "evaluator/device/device.h"

namespace evo::cuda {

/// Of a launch that cannot be made.
Failure refusal(std::string reason);

/// Encodes a TMA descriptor over a buffer at `address`: elements beyond the edge read as zero, no interleave.
/// Sets `failure`, with the reason, when the map does not meet the requirements of cuTensorMapEncodeTiled.
CUtensorMap encode_tensor_map(const Driver& driver, const TensorMap& map, DeviceAddress address,
                              std::optional<Failure>& failure);

}  // namespace evo::cuda
