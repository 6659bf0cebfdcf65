#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/warp.h"

/// Copies of cp.async (not the bulk ones) that are under way.
namespace evo::vgpu {

/// Ends the copies of these lanes that belong to committed groups, except each lane's latest `stay` groups.
void land_committed_copies(Warp& warp, std::uint32_t lanes, std::int64_t stay);
/// Ends all copies of these lanes.
void land_copies(Warp& warp, std::uint32_t lanes);

}  // namespace evo::vgpu
