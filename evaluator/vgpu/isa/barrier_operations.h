#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/warp.h"

namespace evo::vgpu {

/// What a barrier instruction does when its barrier is complete: bar.red writes its result to the lanes of
/// `mask`. `votes` of the `voters` that executed it had a true predicate.
void finish_barrier(Warp& warp, const Instruction& instruction, std::uint32_t mask, std::uint32_t votes,
                    std::uint32_t voters);

}  // namespace evo::vgpu
