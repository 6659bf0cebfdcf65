#pragma once

#include <optional>

#include "engine/device/device_limits.h"
#include "engine/device/launch_rules.h"
#include "evaluator/device/device.h"
#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::vgpu {

inline Failure refusal(std::string reason) {
  Failure failure;
  failure.verdict = Verdict::launch_failed;
  failure.reason = std::move(reason);
  return failure;
}

/// A cluster that the kernel was built for counts when the launch has none.
Dim3 cluster_of(const Kernel& kernel, const evo::Launch& planned);

/// `registers`: of a thread; 0: unknown.
Occupancy occupancy_of(const DeviceLimits& limits, const Kernel& kernel, const evo::Launch& planned, int registers);

/// What the driver would refuse on the model GPU.
std::optional<Failure> check_limits(const DeviceLimits& limits, const Kernel& kernel, const evo::Launch& planned,
                                    int registers);

KernelFacts facts_of(const Kernel& kernel, int registers);

}  // namespace evo::vgpu
