#pragma once

#include <cstdint>

#include "evaluator/vgpu/warp.h"

namespace evo::vgpu {

/// Warp::gather with the member mask in a register. False when the split waits or the warp has failed.
bool gather_members(Warp& warp, const Instruction& in, std::uint32_t& mask, Place members_at,
                    Warp::Meet meet);

}  // namespace evo::vgpu
