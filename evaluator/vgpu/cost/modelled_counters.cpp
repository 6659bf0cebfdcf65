#include "evaluator/vgpu/cost/modelled_counters.h"

#include <cstddef>
#include <string>

namespace evo::vgpu {
namespace {

constexpr double kPercent = 100;
constexpr double kSectorBytes = 32;

std::string_view state_of(Stall stall, const DeviceModel& model) {
  switch (stall) {
    case Stall::none:
      return "selected";
    case Stall::dependence:
      return "wait";
    case Stall::shared_memory:
    case Stall::special:
      return "short_scoreboard";
    case Stall::global_memory:
    case Stall::async_copy:
      return "long_scoreboard";
    case Stall::tensor_core:
      return model.wgmma.half > 0 ? "gmma" : "math_pipe_throttle";
    case Stall::barrier:
      return "barrier";
    case Stall::pipe_busy:
      return "math_pipe_throttle";
  }
  return "misc";
}

}  // namespace

CounterValues modelled_counters(const DeviceModel& model, const LaunchCost& cost) {
  CounterValues values;
  const auto set = [&](std::string_view metric, double value) { values[std::string(metric)] = value; };
  const auto busy = [&](std::string_view metric, Pipe pipe) {
    set(metric, kPercent * cost.pipe_use[static_cast<std::size_t>(pipe)]);
  };
  const auto blocks = static_cast<double>(cost.blocks);
  const double working_us = cost.latency_us - cost.launch_us;
  set(metric::kDuration, cost.latency_us * 1e3);
  set(metric::kCycles, cost.sm_us * model.sustained_clock_ghz * 1e3);
  set(metric::kInstructions, blocks * static_cast<double>(cost.instructions_per_block));
  set(metric::kBankConflicts, blocks * static_cast<double>(cost.bank_conflicts_per_block));
  set(metric::kL2Sectors, blocks * static_cast<double>(cost.global_bytes_per_block) / kSectorBytes);
  set(metric::kMemoryBytes, cost.memory_us * model.memory_gbytes_per_s * 1e3);
  busy(metric::kTensorPipe, Pipe::tensor_core);
  busy(metric::kIssue, Pipe::issue);
  busy(metric::kAlu, Pipe::alu);
  busy(metric::kFma, Pipe::float_fma);
  busy(metric::kDouble, Pipe::double_fma);
  busy(metric::kSpecial, Pipe::special);
  busy(metric::kShared, Pipe::shared_memory);
  if (working_us > 0) {
    set(metric::kL2, kPercent * cost.l2_us / working_us);
    set(metric::kMemory, kPercent * cost.memory_us / working_us);
  }
  set(metric::kWarps, kPercent * cost.occupancy);
  for (int i = 0; i < kStalls; ++i)
    values[stall_metric(state_of(static_cast<Stall>(i), model))] += cost.stall_share[static_cast<std::size_t>(i)];
  return values;
}

std::vector<LaunchProfile> modelled_launches(const DeviceModel& model, const PlanCost& cost) {
  std::vector<LaunchProfile> launches;
  for (const LaunchCost& launch : cost.launches) launches.push_back({launch.kernel, modelled_counters(model, launch)});
  return launches;
}

}  // namespace evo::vgpu
