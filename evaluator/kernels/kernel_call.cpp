#include "evaluator/kernels/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::uint32_t kMostBlocks = 1024;

}  // namespace

std::uint32_t blocks_for(std::uint64_t units, std::uint64_t of_a_block) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((units + of_a_block - 1) / of_a_block, 1, kMostBlocks));
}

Scalar scalar_of(std::uint64_t value) {
  return {{DType::u64, 1}, {value}};
}
Scalar scalar_of(double value) {
  return {{DType::f64, 1}, {value}};
}
Scalar scalar_of(float value) {
  return {{DType::f32, 1}, {static_cast<double>(value)}};
}
Scalar scalar_of(int value) {
  return {{DType::s32, 1}, {std::int64_t{value}}};
}

void run_kernel(Device& device, const Module& module, const char* kernel, std::uint32_t blocks,
                std::vector<DeviceAddress> addresses, std::vector<Scalar> values) {
  Plan plan;
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {blocks, 1, 1};
  launch.block = {kKernelThreads, 1, 1};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    plan.tensors.push_back({.name = "judged", .dtype = DType::u64, .bytes = sizeof(std::uint64_t)});
    launch.arguments.push_back({Argument::Kind::tensor, i});
  }
  launch.arguments.push_back({Argument::Kind::value, 0, std::move(values)});
  plan.launches.push_back(std::move(launch));
  if (const auto failure = device.run(module, plan, {std::move(addresses), {}}))
    throw machine_error(fmt::format("{}: {}: {}", device.info().id, kernel, failure->reason));
}

}  // namespace evo
