#include "evaluator/vgpu/cost/cost_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "engine/device/launch_rules.h"
#include "evaluator/vgpu/cost/sm_share.h"
#include "evaluator/vgpu/cost/sm_simulation.h"
#include "evaluator/vgpu/cost/waiting.h"

namespace evo::vgpu {
namespace {

/// A pipe busier than this fraction bounds the kernel; below, latency does.
constexpr double kBusy = 0.6;
/// The fraction of L2 that a working set can use; hashing and other traffic take the rest.
constexpr double kUsableL2 = 0.75;

Occupancy occupancy_of(const DeviceModel& model, const LaunchConfig& config) {
  Occupancy most = occupancy(limits_of(model), {.threads = config.threads_per_block,
                                                .registers_per_thread = config.registers_per_thread,
                                                .smem_bytes = config.smem_bytes});
  most.blocks = std::max(most.blocks, 1);
  return most;
}

/// SMs that can work at once on clusters of a size: in each GPC as many as make whole clusters.
int usable_sms(const DeviceModel& model, std::uint32_t cluster) {
  int sms = 0;
  for (const int gpc : model.gpc_sms) sms += gpc - gpc % static_cast<int>(cluster);
  return cluster <= 1 || sms == 0 ? model.sm_count : sms;
}

template <std::size_t Count>
int largest(const std::array<double, Count>& values, int first) {
  return static_cast<int>(std::max_element(values.begin() + first, values.end()) - values.begin());
}

std::string bound_of(const LaunchCost& cost) {
  const double work_us = cost.latency_us - cost.launch_us;
  if (cost.launch_us > work_us) return "launch";
  if (cost.memory_us >= work_us) return "memory traffic";
  if (cost.l2_us >= work_us) return "L2 traffic";
  if (2 * cost.waiting_us > work_us) return "latency (other blocks)";
  if (cost.pipe_use[static_cast<std::size_t>(cost.binding)] >= kBusy) return std::string(name_of(cost.binding));
  return fmt::format("latency ({})", name_of(static_cast<Stall>(largest(cost.stall_share, 1))));
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

std::map<std::uint32_t, LaunchCost::StallShares> line_stalls(const RecordedTrace& trace, const SmResult& sm) {
  double all = 0;
  std::map<std::uint32_t, LaunchCost::StallShares> shares;
  for (std::size_t i = 0; i < sm.instruction_stalls.size(); ++i) {
    const auto& clocks = sm.instruction_stalls[i];
    const double sum = std::accumulate(clocks.begin(), clocks.end(), 0.0);
    if (sum <= 0) continue;
    LaunchCost::StallShares& line = shares[trace.instructions[i].line];
    for (std::size_t kind = 0; kind < kStalls; ++kind) line[kind] += clocks[kind];
    all += sum;
  }
  for (auto& [line, stalls] : shares)
    for (double& clocks : stalls) clocks = share(clocks, all);
  return shares;
}

/// Averages over all blocks, each as the trace that stands for it.
void count_block(LaunchCost& cost, const RecordedTrace& trace, std::span<const BlockWork> work) {
  const std::vector<double> counts = blocks_of_traces(trace, work, cost.blocks);
  const auto all = [&](std::uint64_t RecordedBlock::*figure) {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) sum += counts[i] * static_cast<double>(trace.blocks[i].*figure);
    return sum;
  };
  const auto of_one = [&](double sum) {
    return static_cast<std::uint64_t>(sum / static_cast<double>(std::max<std::uint64_t>(cost.blocks, 1)) + 1e-6);
  };
  cost.instructions_per_block = of_one(all(&RecordedBlock::issued));
  cost.global_bytes_per_block = of_one(32 * all(&RecordedBlock::global_sectors));
  cost.bank_conflicts_per_block = of_one(all(&RecordedBlock::conflicts));
  cost.rewritten = share(all(&RecordedBlock::rewritten_sectors), all(&RecordedBlock::distinct_sectors));
}

/// Bytes between L2 and memory: what the launch touches, once, and once more what goes back after it has been read. No
/// more than passes L2.
double memory_bytes(const LaunchCost& cost, const LaunchConfig& config, double l2_bytes) {
  if (config.footprint_bytes <= 0) return l2_bytes;
  return std::min(static_cast<double>(config.footprint_bytes) * (1 + cost.rewritten), l2_bytes);
}

}  // namespace

LaunchCost model_launch(const DeviceModel& model, const LaunchConfig& config, const RecordedTrace& trace,
                        std::span<const BlockWork> work, const WaitLog* waits) {
  const Occupancy occupancy = occupancy_of(model, config);
  const auto sms = static_cast<std::uint64_t>(usable_sms(model, config.cluster));
  const bool from_memory =
      config.cold || static_cast<double>(config.footprint_bytes) > kUsableL2 * static_cast<double>(model.l2_bytes);
  const double clocks_per_us = model.sustained_clock_ghz * 1e3;

  LaunchCost cost;
  cost.kernel = config.kernel;
  cost.blocks = config.blocks;
  cost.blocks_per_sm = occupancy.blocks;
  cost.occupancy_limit = name_of(occupancy.limit);
  const auto warps = occupancy.blocks * ((config.threads_per_block + kWarpSize - 1) / kWarpSize);
  cost.occupancy = share(warps, launch_rules(model.sm).warps_per_sm);
  cost.waves = share(static_cast<double>(config.blocks), static_cast<double>(sms) * occupancy.blocks);
  count_block(cost, trace, work);

  SmResult sm = busiest_sm(model, trace, work, config.blocks, {sms, occupancy.blocks}, from_memory);
  if (waits != nullptr && !work.empty()) {
    const double waiting = waiting_clocks(model, trace, work, *waits, {sms, occupancy.blocks}, from_memory);
    cost.waiting_us = waiting / clocks_per_us;
    sm.clocks += waiting;
  }
  cost.sm_us = sm.clocks / clocks_per_us;
  for (int i = 0; i < kPipes; ++i) cost.pipe_use[i] = share(sm.busy[i], sm.clocks);
  for (int i = 0; i < kStalls; ++i) cost.stall_share[i] = share(sm.stalls[i], sm.warp_clocks);
  cost.line_stalls = line_stalls(trace, sm);
  cost.instructions_per_clock = share(sm.instructions, sm.clocks);
  cost.binding = static_cast<Pipe>(largest(cost.pipe_use, 0));

  const double l2_bytes = static_cast<double>(cost.global_bytes_per_block) * static_cast<double>(config.blocks);
  cost.l2_us = l2_bytes / model.l2_bytes_per_clock / clocks_per_us;
  if (from_memory) cost.memory_us = memory_bytes(cost, config, l2_bytes) / model.memory_gbytes_per_s * 1e-3;
  cost.launch_us = config.programmatic ? model.dependent_launch_us : model.launch_floor_us;
  // The prologue overlaps the preceding launch. A kernel that does not wait for that launch hides nothing.
  if (config.programmatic) cost.hidden_us = sm.prologue.value_or(0) / clocks_per_us;
  cost.latency_us = cost.launch_us + std::max({cost.sm_us - cost.hidden_us, cost.l2_us, cost.memory_us});
  cost.bound = bound_of(cost);
  return cost;
}

PlanCost model_plan(std::vector<LaunchCost> launches) {
  PlanCost plan;
  for (const LaunchCost& launch : launches) plan.latency_us += launch.latency_us;
  plan.launches = std::move(launches);
  return plan;
}

}  // namespace evo::vgpu
