#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device_limits.h"
#include "engine/device/launch_rules.h"
#include "evaluator/device/device.h"
#include "evaluator/vgpu/machine/kernel.h"

namespace evo::vgpu {

/// A parameter of a kernel, as PTX declares it.
struct DeclaredParameter {
  std::size_t bytes = 0;
  std::string type;  ///< "f32", "u64", "b8" (of an array).
  std::size_t offset = 0;
};
/// What a kernel demands of each launch.
struct LaunchDemands {
  int registers = 0;  ///< Of a thread; 0: unknown.
  std::uint32_t static_smem_bytes = 0;
  // Zeros: not said.
  Dim3 required_block{0, 0, 0}, maximum_block{0, 0, 0}, required_cluster{0, 0, 0};
};
/// What a host asks about a kernel.
struct KernelFacts : LaunchDemands {
  std::uint32_t local_bytes = 0;  ///< Of a thread.
  std::vector<DeclaredParameter> parameters;
};
/// A __device__ or __constant__ variable.
struct DeclaredVariable {
  std::string name;  ///< In PTX.
  DeviceAddress address = 0;
  std::size_t bytes = 0;
};

inline Failure refusal(std::string reason) {
  Failure failure;
  failure.verdict = Verdict::launch_failed;
  failure.reason = std::move(reason);
  return failure;
}

/// `registers`: of a thread; 0: unknown.
LaunchDemands demands_of(const Kernel& kernel, int registers);
KernelFacts facts_of(const Kernel& kernel, int registers);

/// A cluster that the kernel was built for counts when the launch has none.
Dim3 cluster_of(const LaunchDemands& demands, const evo::Launch& planned);

Occupancy occupancy_of(const DeviceLimits& limits, const LaunchDemands& demands, const evo::Launch& planned);

/// Why the driver would refuse a launch on the model GPU.
struct RefusedLaunch {
  enum class Limit {
    sizes,      ///< Of the grid, the block, the cluster or shared memory: no kernel may have them.
    kernel,     ///< Those that this kernel was built for.
    registers,  ///< Not one block fits an SM.
  };
  Limit limit = Limit::sizes;
  std::string why;
};
std::optional<RefusedLaunch> refused_launch(const DeviceLimits& limits, const LaunchDemands& demands,
                                            const evo::Launch& planned);

}  // namespace evo::vgpu
