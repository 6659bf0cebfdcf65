#include "evaluator/program/work.h"

#include <driver_types.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/demangled.h"
#include "engine/device/launch_rules.h"
#include "evaluator/vgpu/plan_memory.h"

namespace evo::program {
evo::Launch planned(const KernelLaunch& launch) {
  evo::Launch plan;
  plan.kernel = launch.function->name;
  plan.grid = launch.grid;
  plan.block = launch.block;
  plan.cluster = launch.cluster;
  plan.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  plan.programmatic = launch.programmatic;
  return plan;
}

std::vector<std::vector<std::byte>> arguments_of(const Function& function, void* const* values,
                                                 const std::vector<std::byte>* packed) {
  std::vector<std::vector<std::byte>> arguments;
  const std::vector<vgpu::DeclaredParameter>& parameters = function.facts.parameters;
  require(parameters.empty() || values != nullptr || packed != nullptr);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const vgpu::DeclaredParameter& parameter = parameters[i];
    const std::byte* from = nullptr;
    if (packed != nullptr) {
      require(parameter.offset + parameter.bytes <= packed->size());
      from = packed->data() + parameter.offset;
    } else {
      from = static_cast<const std::byte*>(values[i]);
      require(from != nullptr);
    }
    arguments.emplace_back(from, from + parameter.bytes);
  }
  return arguments;
}

int resident_blocks(const Function& function, int threads, std::size_t dynamic_smem_bytes) {
  return occupancy(machine().info().limits,
                   {.threads = threads,
                    .registers_per_thread = function.facts.registers,
                    .smem_bytes = function.facts.static_smem_bytes + static_cast<std::int64_t>(dynamic_smem_bytes)})
      .blocks;
}

int resident_clusters(const KernelLaunch& launch) {
  const int blocks =
      resident_blocks(*launch.function, static_cast<int>(vgpu::volume(launch.block)), launch.dynamic_smem_bytes);
  return blocks * machine().info().limits.sm_count /
         static_cast<int>(std::max<std::uint64_t>(vgpu::volume(launch.cluster), 1));
}

std::size_t available_smem(const Function& function, int blocks, int threads) {
  const LaunchRules& rules = launch_rules(machine().info().limits.sm);
  int most = rules.smem_per_block_optin_bytes() - static_cast<int>(function.facts.static_smem_bytes);
  const int step = std::max(rules.smem_unit_bytes, 1);
  while (most > 0 && resident_blocks(function, threads, static_cast<std::size_t>(most)) < blocks) most -= step;
  return static_cast<std::size_t>(std::max(most, 0));
}

void check(const KernelLaunch& launch) {
  const auto refuse = [&](Code code, const std::string& why) {
    const std::string line = fmt::format("{} cannot be launched: {}", readable_kernel_name(launch.function->name), why);
    say(line);
    machine().report().refused(line);
    throw Refusal(code);
  };
  if (const auto refused = vgpu::refused_launch(machine().info().limits, launch.function->facts, planned(launch))) {
    using enum vgpu::RefusedLaunch::Limit;
    refuse(refused->limit == sizes       ? Code::invalid_configuration
           : refused->limit == registers ? Code::out_of_resources
                                         : Code::invalid_value,
           refused->why);
  }
  if (static_cast<std::int64_t>(launch.dynamic_smem_bytes) > launch.function->dynamic_smem_limit)
    refuse(Code::invalid_value, fmt::format("{} bytes of dynamic shared memory were not asked for by "
                                            "cudaFuncAttributeMaxDynamicSharedMemorySize ({} are allowed)",
                                            launch.dynamic_smem_bytes, launch.function->dynamic_smem_limit));
  const int blocks =
      resident_blocks(*launch.function, static_cast<int>(vgpu::volume(launch.block)), launch.dynamic_smem_bytes);
  const std::uint64_t resident =
      static_cast<std::uint64_t>(blocks) * static_cast<std::uint64_t>(machine().info().limits.sm_count);
  if (launch.cooperative && vgpu::volume(launch.grid) > resident)
    refuse(Code::cooperative_too_large,
           fmt::format("of the {} blocks of the cooperative launch {} are resident together", vgpu::volume(launch.grid),
                       resident));
}

int type_of(const Work& work) {
  struct {
    int operator()(const Empty&) const { return cudaGraphNodeTypeEmpty; }
    int operator()(const KernelLaunch&) const { return cudaGraphNodeTypeKernel; }
    int operator()(const Copy&) const { return cudaGraphNodeTypeMemcpy; }
    int operator()(const Fill&) const { return cudaGraphNodeTypeMemset; }
    int operator()(const HostCall&) const { return cudaGraphNodeTypeHost; }
    int operator()(const ChildGraph&) const { return cudaGraphNodeTypeGraph; }
    int operator()(const EventRecord&) const { return cudaGraphNodeTypeEventRecord; }
    int operator()(const EventWait&) const { return cudaGraphNodeTypeWaitEvent; }
    int operator()(const MemoryAllocation&) const { return cudaGraphNodeTypeMemAlloc; }
    int operator()(const MemoryFree&) const { return cudaGraphNodeTypeMemFree; }
  } type;
  return std::visit(type, work);
}

}  // namespace evo::program
