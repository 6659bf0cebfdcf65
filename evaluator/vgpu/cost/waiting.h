#pragma once

#include <cstdint>
#include <span>

#include "evaluator/vgpu/cost/device_models.h"
#include "evaluator/vgpu/cost/recorded_trace.h"
#include "evaluator/vgpu/cost/sm_share.h"
#include "evaluator/vgpu/machine/launch.h"
#include "evaluator/vgpu/machine/trace.h"

/// Blocks that wait for each other.
namespace evo::vgpu {

/// By how many clocks the launch ends later because its blocks wait for what others write. All blocks are put on the
/// SMs, each begins where a place is free first, and its warps go on as in the trace that stands for it, run alone: up
/// to a read that waits. That is over when the writes that it saw in the interpreter have been made in this schedule,
/// an atomic's when the ones of the same word before it have, too. What waits passes barriers of the block later, and
/// so the others do. The same without waits is taken off.
double waiting_clocks(const DeviceModel& model, const RecordedTrace& trace, std::span<const BlockWork> work,
                      const WaitLog& waits, const Residence& residence, bool from_memory);

}  // namespace evo::vgpu
