#pragma once

#include <cstdint>
#include <span>

#include "evaluator/vgpu/machine/launch.h"

namespace evo::vgpu {

/// Blocks that a tracer wants to see while they run.
struct Sampling {
  Tracer* tracer = nullptr;
  std::span<const std::uint64_t> blocks;  ///< Linear indices.
  bool alone = false;                     ///< Only these run, with the clusters they are in.
};

/// Runs every block, in ascending order. On return `failure` says what went wrong, if anything. With several threads,
/// blocks that are independent run side by side: what they write, count, trace and report does not depend on how many
/// threads there are, unless the kernel has a race between blocks. Of several failures the lowest block's is kept.
void run_blocks(Launch& launch, const Sampling& sampling = {});

}  // namespace evo::vgpu
