#include "evaluator/vgpu/launch_limits.h"

#include <fmt/core.h>

#include <algorithm>

#include "evaluator/vgpu/plan_memory.h"

namespace evo::vgpu {

LaunchDemands demands_of(const Kernel& kernel, int registers) {
  return {registers, kernel.static_smem_bytes, kernel.required_block, kernel.maximum_block, kernel.required_cluster};
}

KernelFacts facts_of(const Kernel& kernel, int registers) {
  KernelFacts facts{demands_of(kernel, registers), kernel.local_bytes, {}};
  for (const KernelParameter& one : kernel.parameters)
    facts.parameters.push_back({one.bytes, std::string(ptx::name_of(one.type)), one.offset});
  return facts;
}

Dim3 cluster_of(const LaunchDemands& demands, const evo::Launch& planned) {
  return demands.required_cluster[0] != 0 && volume(planned.cluster) <= 1 ? demands.required_cluster : planned.cluster;
}

Occupancy occupancy_of(const DeviceLimits& limits, const LaunchDemands& demands, const evo::Launch& planned) {
  return occupancy(limits, {.threads = static_cast<std::int64_t>(volume(planned.block)),
                            .registers_per_thread = demands.registers,
                            .smem_bytes = std::int64_t{demands.static_smem_bytes} + planned.dynamic_smem_bytes});
}

std::optional<RefusedLaunch> refused_launch(const DeviceLimits& limits, const LaunchDemands& demands,
                                            const evo::Launch& planned) {
  using enum RefusedLaunch::Limit;
  const std::uint64_t threads = volume(planned.block);
  const std::int64_t smem = std::int64_t{demands.static_smem_bytes} + planned.dynamic_smem_bytes;
  const Dim3 cluster = cluster_of(demands, planned);
  if (auto reason = illegal_launch(limits, {planned.grid, planned.block, cluster, smem}))
    return RefusedLaunch{sizes, *reason};
  if (const std::uint64_t most = volume(demands.maximum_block); most != 0 && threads > most)
    return RefusedLaunch{kernel, fmt::format("block of {} threads exceeds __launch_bounds__ {}", threads, most)};
  if (demands.required_block[0] != 0 && planned.block != demands.required_block)
    return RefusedLaunch{kernel, "a block of another size than the kernel requires"};
  if (demands.required_cluster[0] != 0 && cluster != demands.required_cluster)
    return RefusedLaunch{kernel, "a cluster of another size than the kernel requires"};
  if (occupancy_of(limits, demands, planned).blocks == 0)
    return RefusedLaunch{
        registers, fmt::format("too many resources: {} registers for each of {} threads", demands.registers, threads)};
  return std::nullopt;
}

}  // namespace evo::vgpu
