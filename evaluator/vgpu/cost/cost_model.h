#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/machine/trace.h"

/// How long a launch would take on a model GPU. A simulation of one SM, from the traces of a few blocks: each warp
/// issues in order once its operands are ready (scoreboard), one instruction a clock from each of four schedulers,
/// through pipes of limited rate; around it, occupancy, waves of blocks over the SMs, L2 and memory traffic and the
/// launch itself. Deterministic. docs/vgpu_cost_model.md explains it, with its limits.
namespace evo::vgpu {

/// What the model needs to know of a launch besides its traces.
struct LaunchConfig {
  std::string kernel;        ///< For the explanation.
  std::uint64_t blocks = 1;  ///< Of the whole grid.
  std::uint32_t threads_per_block = 32;
  std::uint32_t cluster = 1;                ///< Blocks of a cluster.
  std::uint32_t registers_per_thread = 32;  ///< Build::registers.
  std::int64_t smem_bytes = 0;              ///< Static and dynamic, of a block.
  bool programmatic = false;                ///< Starts while the launch ahead of it ends.
  bool cold = false;                        ///< Nothing in L2 at the start.
  std::int64_t footprint_bytes = 0;         ///< Distinct bytes that the launch touches; 0: unknown, taken as warm.
};

/// Linear indices of the blocks to trace: the first, the last (the one that has the tail) and some between; at most
/// three, ascending.
std::vector<std::uint64_t> blocks_to_trace(std::uint64_t blocks);

/// Keeps what the interpreter tells of the traced blocks of one launch.
class TraceRecorder : public Tracer {
 public:
  TraceRecorder();
  ~TraceRecorder() override;
  TraceRecorder(TraceRecorder&&) noexcept;
  TraceRecorder& operator=(TraceRecorder&&) noexcept;

  void begin_block(const TracedBlock& block) override;
  void issue(const TracedInstruction& instruction, const Issue& issue) override;
  void end_block() override;
  bool has_enough() const override;

  struct Recording;
  const Recording& recording() const { return *recording_; }

 private:
  std::unique_ptr<Recording> recording_;
};

/// What warps waited for, and the pipes of an SM.
enum class Stall {
  none,
  dependence,
  shared_memory,
  global_memory,
  tensor_core,
  special,
  barrier,
  pipe_busy,
  async_copy
};
inline constexpr int kStalls = 9;
std::string_view name_of(Stall stall);

enum class Pipe { issue, float_fma, alu, special, convert, tensor_core, shared_memory, global_memory, double_fma };
inline constexpr int kPipes = 9;
std::string_view name_of(Pipe pipe);

struct LaunchCost {
  std::string kernel;
  double latency_us = 0;                      ///< Of the launch by itself in a graph.
  double launch_us = 0;                       ///< Of it: the launch floor.
  double sm_us = 0;                           ///< Of it: what the busiest SM needs.
  double hidden_us = 0;                       ///< Of that: beside the launch ahead, where the launch is programmatic.
  double l2_us = 0;                           ///< Least time for the traffic between SMs and L2, all SMs together.
  double memory_us = 0;                       ///< Least time for the traffic to memory.
  int blocks_per_sm = 0;                      ///< That fit together.
  std::string_view occupancy_limit;           ///< "registers", "shared memory", "threads", "blocks".
  double occupancy = 0;                       ///< Resident warps of those possible.
  double waves = 0;                           ///< Blocks over what all SMs hold together.
  Pipe binding = Pipe::issue;                 ///< The busiest pipe of the busiest SM.
  std::string bound;                          ///< In words: "tensor core", "latency (barrier)", "L2 traffic", "launch".
  std::array<double, kPipes> pipe_use{};      ///< Busy fraction of each pipe while the SM works.
  std::array<double, kStalls> stall_share{};  ///< Of the warps' lifetime.
  double instructions_per_clock = 0;          ///< Warp instructions of one SM.
  std::uint64_t instructions_per_block = 0;   ///< Warp instructions.
  std::uint64_t global_bytes_per_block = 0;   ///< In sectors of 32 bytes.
  std::uint64_t bank_conflicts_per_block = 0;  ///< Wavefronts beyond what the bytes need.
};

/// At least one block must have been traced. Registers, threads and shared memory must fit an SM.
LaunchCost model_launch(const DeviceModel& model, const LaunchConfig& config, const TraceRecorder& traces);

struct PlanCost {
  double latency_us = 0;
  std::vector<LaunchCost> launches;
};

/// Launches follow each other in a graph.
PlanCost model_plan(std::vector<LaunchCost> launches);

}  // namespace evo::vgpu
