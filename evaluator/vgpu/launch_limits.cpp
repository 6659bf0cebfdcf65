#include "evaluator/vgpu/launch_limits.h"

#include <fmt/core.h>

#include <algorithm>

#include "evaluator/vgpu/plan_memory.h"

namespace evo::vgpu {

Dim3 cluster_of(const Kernel& kernel, const evo::Launch& planned) {
  return kernel.required_cluster[0] != 0 && volume(planned.cluster) <= 1 ? kernel.required_cluster : planned.cluster;
}

std::optional<Failure> check_limits(const DeviceLimits& limits, const Kernel& kernel, const evo::Launch& planned,
                                    int registers) {
  const std::uint64_t threads = volume(planned.block);
  const auto refuse = [&](const std::string& why) { return refusal(fmt::format("kernel {}: {}", kernel.name, why)); };
  const std::int64_t smem = std::int64_t{kernel.static_smem_bytes} + planned.dynamic_smem_bytes;
  if (auto reason = illegal_launch(limits, {planned.grid, planned.block, cluster_of(kernel, planned), smem}))
    return refuse(*reason);
  const std::uint64_t limit = volume(kernel.maximum_block);
  if (limit != 0 && threads > limit)
    return refuse(fmt::format("block of {} threads exceeds __launch_bounds__ {}", threads, limit));
  if (kernel.required_block[0] != 0 &&
      !std::equal(planned.block.begin(), planned.block.end(), kernel.required_block.begin())) {
    return refuse("a block of another size than the kernel requires");
  }
  if (kernel.required_cluster[0] != 0 && cluster_of(kernel, planned) != kernel.required_cluster)
    return refuse("a cluster of another size than the kernel requires");
  if (occupancy_of(limits, kernel, planned, registers).blocks == 0)
    return refuse(fmt::format("too many resources: {} registers for each of {} threads", registers, threads));
  return std::nullopt;
}

Occupancy occupancy_of(const DeviceLimits& limits, const Kernel& kernel, const evo::Launch& planned, int registers) {
  return occupancy(limits, {.threads = static_cast<std::int64_t>(volume(planned.block)),
                            .registers_per_thread = registers,
                            .smem_bytes = std::int64_t{kernel.static_smem_bytes} + planned.dynamic_smem_bytes});
}

KernelFacts facts_of(const Kernel& kernel, int registers) {
  KernelFacts facts;
  facts.registers = registers;
  facts.static_smem_bytes = kernel.static_smem_bytes;
  facts.local_bytes = kernel.local_bytes;
  facts.required_block = kernel.required_block;
  facts.maximum_block = kernel.maximum_block;
  facts.required_cluster = kernel.required_cluster;
  for (const KernelParameter& one : kernel.parameters)
    facts.parameters.push_back({one.bytes, std::string(ptx::name_of(one.type)), one.offset});
  return facts;
}

}  // namespace evo::vgpu
