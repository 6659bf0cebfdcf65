#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/pipes.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/wait_log.h"

/// The latency of a launch on a model GPU. One SM is simulated from the traces of a few blocks: each warp issues in
/// order once its operands are ready (scoreboard), each of four schedulers issues one instruction a clock, and pipes
/// have limited rates. Occupancy, waves of blocks over the SMs, traffic to L2 and memory and the launch itself are
/// added. Deterministic. docs/vgpu_cost_model.md explains the model and its limits.
namespace evo::vgpu {

/// A launch, apart from its trace.
struct LaunchConfig {
  std::string kernel;        ///< For the explanation.
  std::uint64_t blocks = 1;  ///< In the whole grid.
  std::uint32_t threads_per_block = 32;
  std::uint32_t cluster = 1;                ///< Blocks in a cluster.
  std::uint32_t registers_per_thread = 32;  ///< Build::registers.
  std::int64_t smem_bytes = 0;              ///< Of a block, static and dynamic.
  bool programmatic = false;                ///< It may start while the preceding launch ends.
  bool cold = false;                        ///< L2 is empty at the start.
  std::int64_t footprint_bytes = 0;         ///< Distinct bytes that the launch touches; 0: unknown, taken as warm.
};

struct LaunchCost {
  std::string kernel;
  std::uint64_t blocks = 1;               ///< In the whole grid.
  double latency_us = 0;                  ///< Of the launch in a graph.
  double launch_us = 0;                   ///< Part of it: the launch floor.
  double sm_us = 0;                       ///< Part of it: the time of the busiest SM.
  double hidden_us = 0;                   ///< Part of sm_us that overlaps the preceding launch (programmatic launches).
  double waiting_us = 0;                  ///< Part of sm_us: blocks wait for each other.
  double uncertain_us = 0;                ///< How far sm_us may be off, as its blocks differ from each other.
  double l2_us = 0;                       ///< Least time for the traffic between SMs and L2, all SMs together.
  double memory_us = 0;                   ///< Least time for the traffic to memory.
  int blocks_per_sm = 0;                  ///< Resident blocks.
  std::string_view occupancy_limit;       ///< What limits them: "registers", "shared memory", "threads", "blocks".
  double occupancy = 0;                   ///< Resident warps as a fraction of the possible ones.
  double waves = 0;                       ///< Blocks divided by those that all SMs hold at a time.
  Pipe binding = Pipe::issue;             ///< The busiest pipe of the busiest SM.
  std::string bound;                      ///< In words: "tensor core", "latency (barrier)", "L2 traffic", "launch".
  std::array<double, kPipes> pipe_use{};  ///< Busy fraction of each pipe while the SM works.
  using StallShares = std::array<double, kStalls>;
  StallShares stall_share{};  ///< Fraction of the warps' lifetime.
  std::map<std::uint32_t, StallShares>
      line_stalls;                             ///< The same by line of the CUDA source; 0: lines that are unknown.
  double instructions_per_clock = 0;           ///< Warp instructions of one SM.
  std::uint64_t instructions_per_block = 0;    ///< Warp instructions.
  std::uint64_t executed = 0;                  ///< Warp instructions of all blocks that ran.
  std::uint64_t global_bytes_per_block = 0;    ///< In sectors of 32 bytes.
  double rewritten = 0;                        ///< The part of the bytes touched that is read and then written.
  std::uint64_t bank_conflicts_per_block = 0;  ///< Wavefronts beyond those that the bytes need.
};

/// The trace must hold at least one block. Registers, threads and shared memory of a block must fit an SM. `work` is
/// what each block has executed; empty: unknown, and the traces stand for all blocks in turn. `waits`: of a kernel
/// whose blocks wait for each other, if `work` is known.
LaunchCost model_launch(const DeviceModel& model, const LaunchConfig& config, const RecordedTrace& trace,
                        std::span<const BlockWork> work = {}, const WaitLog* waits = nullptr);

struct PlanCost {
  double latency_us = 0;
  std::vector<LaunchCost> launches;
};

/// The cost of launches that follow each other in a graph.
PlanCost model_plan(std::vector<LaunchCost> launches);

}  // namespace evo::vgpu
