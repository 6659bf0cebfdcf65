#include "evaluator/pipeline/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "engine/device/launch_rules.h"
#include "engine/task/floor.h"
#include "evaluator/compile/ptx_text.h"
#include "evaluator/compile/writable_globals.h"

namespace evo {
namespace {

constexpr std::uint32_t kMaxTensorMapBox = 256;

/// Stack is set aside for every thread that the GPU can hold: on an H200 this much takes 4 GiB.
constexpr int kMaxStackBytes = 16384;

/// A boost clock above the specified one, and the timer's resolution: 5 % below the floor is still believed.
constexpr double kFloorTolerance = 0.95;

std::uint64_t product(const Dim3& dims) {
  return std::uint64_t{dims[0]} * dims[1] * dims[2];
}

std::size_t count_of(const Plan& plan, Argument::Kind kind) {
  switch (kind) {
    case Argument::Kind::tensor:
      return plan.tensors.size();
    case Argument::Kind::workspace:
      return plan.workspaces.size();
    case Argument::Kind::tensor_map:
      return plan.tensor_maps.size();
    default:
      return 1;
  }
}

bool dangles(const Plan& plan, const Argument& argument) {
  return argument.kind != Argument::Kind::value && argument.index >= count_of(plan, argument.kind);
}

std::optional<std::string> illegal_launch(const Plan& plan, const Launch& launch, const DeviceLimits& limits) {
  if (auto reason = evo::illegal_launch(limits, {launch.grid, launch.block, launch.cluster, launch.dynamic_smem_bytes}))
    return reason;
  for (const Argument& argument : launch.arguments) {
    if (dangles(plan, argument)) return "an argument that names nothing";
  }
  return std::nullopt;
}

/// The rules of cuTensorMapEncodeTiled that depend on the plan alone.
std::optional<std::string> illegal_tensor_map(const Plan& plan, const TensorMap& map, const DeviceLimits& limits) {
  if (limits.sm < 90) return "tensor maps need sm_90";
  if (dangles(plan, map.source) || map.source.kind == Argument::Kind::value ||
      map.source.kind == Argument::Kind::tensor_map) {
    return "its source is no tensor or workspace";
  }
  if (map.dims.empty() || map.dims.size() > 5 || map.box.size() != map.dims.size() ||
      map.strides_bytes.size() + 1 != map.dims.size()) {
    return "dims, strides and box do not agree";
  }
  for (const std::uint64_t dim : map.dims) {
    if (dim == 0 || dim > (std::uint64_t{1} << 32)) return fmt::format("a dimension of {}", dim);
  }
  for (const std::uint32_t side : map.box) {
    if (side == 0 || side > kMaxTensorMapBox) return fmt::format("a box side of {} (1 to {})", side, kMaxTensorMapBox);
  }
  for (const std::uint64_t stride : map.strides_bytes) {
    if (stride % 16 != 0) return fmt::format("a stride of {} bytes (multiples of 16)", stride);
  }
  const std::uint64_t row_bytes = map.box[0] * size_of(map.dtype);
  if (row_bytes % 16 != 0) return fmt::format("a box row of {} bytes (multiples of 16)", row_bytes);
  if (map.swizzle_bytes != 0 && row_bytes > map.swizzle_bytes) {
    return fmt::format("a box row of {} bytes in a swizzle of {}", row_bytes, map.swizzle_bytes);
  }
  return std::nullopt;
}

std::optional<std::string> illegal_plan(const Plan& plan, const DeviceInfo& device) {
  if (plan.launches.empty()) return "it launches nothing";
  for (const Launch& launch : plan.launches) {
    if (auto reason = illegal_launch(plan, launch, device.limits)) return fmt::format("{}: {}", launch.kernel, *reason);
  }
  for (const Constant& constant : plan.constants) {
    if (dangles(plan, constant.source)) return fmt::format("constant {}: it names nothing", constant.symbol);
  }
  for (const TensorMap& map : plan.tensor_maps) {
    if (auto reason = illegal_tensor_map(plan, map, device.limits)) {
      return fmt::format("tensor map {}: {}", map.name, *reason);
    }
  }
  std::uint64_t bytes = 0;
  for (const Workspace& workspace : plan.workspaces) {
    // Compared before it is added: the sum of untrusted sizes must not wrap around.
    if (workspace.bytes > static_cast<std::uint64_t>(device.memory_bytes) - bytes) {
      return fmt::format("workspaces beyond the device's {} bytes", device.memory_bytes);
    }
    bytes += workspace.bytes;
  }
  return std::nullopt;
}

/// What is wrong with what a kernel takes, however it is launched.
std::optional<std::string> takes_too_much(const KernelBuild& kernel) {
  if (kernel.spill_bytes > 0) return fmt::format("{} bytes of register spills", kernel.spill_bytes);
  if (kernel.stack_bytes > kMaxStackBytes)
    return fmt::format("{} bytes of stack for each thread ({} allowed)", kernel.stack_bytes, kMaxStackBytes);
  if (!kernel.warning.empty()) return kernel.warning;
  return std::nullopt;
}

std::optional<std::string> too_large(const KernelBuild& kernel, const Launch& launch, const DeviceLimits& limits) {
  if (kernel.static_smem_bytes + std::int64_t{launch.dynamic_smem_bytes} > limits.smem_per_block_bytes)
    return fmt::format("{} + {} bytes of shared memory ({} allowed)", kernel.static_smem_bytes,
                       launch.dynamic_smem_bytes, limits.smem_per_block_bytes);
  if (resident_blocks(kernel, launch, limits) == 0)
    return fmt::format("a block of {} threads with {} registers each fits no SM", product(launch.block),
                       kernel.registers);
  return std::nullopt;
}

/// A block that waits for one that has no room yet waits for ever.
std::optional<std::string> not_resident_together(const KernelBuild& kernel, const Launch& launch,
                                                 const DeviceLimits& limits) {
  if (!kernel.cooperative || limits.sm_count <= 0) return std::nullopt;
  const auto resident =
      static_cast<std::uint64_t>(resident_blocks(kernel, launch, limits)) * static_cast<std::uint64_t>(limits.sm_count);
  if (product(launch.grid) <= resident) return std::nullopt;
  return fmt::format("it waits for the whole grid, but of its {} blocks {} are resident together: launch fewer",
                     product(launch.grid), resident);
}

}  // namespace

std::optional<Failure> check_legality(const Candidate& candidate, const DeviceInfo& device) {
  if (candidate.programs.empty()) return Failure{Verdict::illegal, "it has no program"};
  for (const Program& program : candidate.programs) {
    for (const auto& [shape, plan] : program.plans) {
      if (auto reason = illegal_plan(plan, device)) {
        return Failure{Verdict::illegal, fmt::format("shape {}: {}", shape, *reason)};
      }
    }
  }
  return std::nullopt;
}

int resident_blocks(const KernelBuild& kernel, const Launch& launch, const DeviceLimits& limits) {
  return occupancy(limits, {.threads = static_cast<std::int64_t>(product(launch.block)),
                            .registers_per_thread = kernel.registers,
                            .smem_bytes = kernel.static_smem_bytes + std::int64_t{launch.dynamic_smem_bytes}})
      .blocks;
}

std::optional<Failure> check_resources(const Program& program, const Build& build, const DeviceInfo& device) {
  for (const auto& [shape, plan] : program.plans) {
    for (const Launch& launch : plan.launches) {
      const KernelBuild& kernel = build.kernel(launch.kernel);
      auto reason = takes_too_much(kernel);
      if (!reason) reason = too_large(kernel, launch, device.limits);
      if (!reason) reason = not_resident_together(kernel, launch, device.limits);
      if (reason) return Failure{Verdict::over_resources, fmt::format("kernel {}: {}", launch.kernel, *reason)};
    }
  }
  return std::nullopt;
}

/// A launch that may begin before those ahead are over must wait for them somewhere. Whether it does so in time, the
/// sanitiser looks at.
std::optional<Failure> check_waits(const Program& program, const Binary& binary) {
  std::set<std::string> programmatic;
  for (const auto& [shape, plan] : program.plans) {
    for (const Launch& launch : plan.launches)
      if (launch.programmatic) programmatic.insert(launch.kernel);
  }
  if (programmatic.empty()) return std::nullopt;
  const std::set<std::string> waiting = ptx_text::waiting_kernels(binary.ptx);
  for (const std::string& kernel : programmatic) {
    if (waiting.contains(binary.build.ptx_name(kernel))) continue;
    return Failure{Verdict::illegal,
                   fmt::format("kernel {} is launched programmatically and never waits for the launches "
                               "ahead (griddepcontrol.wait)",
                               kernel)};
  }
  return std::nullopt;
}

std::optional<Failure> check_build(const Program& program, const Binary& binary, const DeviceInfo& device) {
  if (auto failure = check_resources(program, binary.build, device)) return failure;
  if (auto failure = check_waits(program, binary)) return failure;
  if (const auto globals = writable_globals(binary.ptx); !globals.empty()) {
    return Failure{Verdict::illegal, fmt::format("global variable {} would outlive a launch: use a workspace of the "
                                                 "plan, or __constant__ for tables",
                                                 globals.front())};
  }
  return std::nullopt;
}

std::vector<Residency> residency_of(const Program& program, const Build& build, const DeviceLimits& limits) {
  std::vector<Residency> found;
  if (program.plans.empty()) return found;
  for (const Launch& launch : program.plans.begin()->second.launches) {
    const KernelBuild& kernel = build.kernel(launch.kernel);
    found.push_back({launch.kernel, kernel.registers,
                     kernel.static_smem_bytes + std::int64_t{launch.dynamic_smem_bytes},
                     resident_blocks(kernel, launch, limits)});
  }
  return found;
}

double PhysicalFloor::us() const {
  return std::max({arithmetic_us, memory_us, launch_us});
}

std::string_view PhysicalFloor::bound() const {
  if (us() == launch_us) return "launch";
  return us() == memory_us ? "memory" : "arithmetic";
}

PhysicalFloor physical_floor(const Task& task, const Bindings& options, const Shape& shape, const DeviceInfo& device,
                             bool cold) {
  const Floor least = floor_of(task, options, shape);
  auto bytes = static_cast<double>(least.bytes);
  // A warm run may find in L2 whatever fits there; only the rest must cross the memory bus.
  if (!cold) bytes = std::max(0.0, bytes - static_cast<double>(device.l2_bytes));
  PhysicalFloor floor{.launch_us = device.launch_floor_us};
  const double peak = device.peak_tflops(parse_dtype(task.math));
  if (peak > 0) floor.arithmetic_us = static_cast<double>(least.flops) / (peak * 1e6);
  if (device.memory_gbytes_per_s > 0) floor.memory_us = bytes / (device.memory_gbytes_per_s * 1e3);
  return floor;
}

std::optional<Failure> check_timing(const Timing& timing, double floor_us) {
  if (!std::isfinite(timing.median_us) || timing.median_us <= 0 || timing.samples_us.empty()) {
    return Failure{Verdict::harness_failed, fmt::format("the timing of {} has no usable sample", timing.shape)};
  }
  if (timing.median_us < kFloorTolerance * floor_us) {
    return Failure{Verdict::impossible_time,
                   fmt::format("{:.3f} us at {}: the hardware cannot do it in less than {:.3f} us", timing.median_us,
                               timing.shape, floor_us)};
  }
  return std::nullopt;
}

}  // namespace evo
