#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/cost/block_strata.h"
#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/cost/sm_simulation.h"
#include "evaluator/vgpu/machine/launch.h"

/// Which blocks an SM gets, and how long it takes for them.
namespace evo::vgpu {

struct Residence {
  std::uint64_t sms = 1;
  int blocks = 1;  ///< On one SM at a time.
};

/// The SM that is busy for longest. Blocks that differ begin where a place is free first, as on a GPU, and each takes
/// as long as a block of its stratum that was traced, by their issue slots. `work` is empty where it is unknown: then
/// all SMs have as many blocks, give or take one, and the traces stand for them in turn.
SmResult busiest_sm(const DeviceModel& model, const RecordedTrace& trace, std::span<const BlockWork> work,
                    std::uint64_t blocks, const Residence& residence, bool from_memory);

/// The trace that stands for each block, and how many times as long the block is.
struct Assigned {
  std::vector<const RecordedBlock*> trace;
  std::vector<double> ratio;
};
Assigned assign(const RecordedTrace& trace, std::span<const BlockWork> work, const BlockStrata& strata);

/// The part of what was counted in all blocks that the traces do not tell, each as often as it stands for a block.
double untold(const RecordedTrace& trace, std::span<const BlockWork> work, const BlockStrata& strata);

/// How many blocks each trace stands for, in the order of `trace.blocks`; a block that is half as long is half a block.
std::vector<double> blocks_of_traces(const RecordedTrace& trace, std::span<const BlockWork> work, std::uint64_t blocks);

}  // namespace evo::vgpu
