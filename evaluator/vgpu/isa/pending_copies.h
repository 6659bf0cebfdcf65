#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "evaluator/vgpu/machine/warp.h"

/// Copies of cp.async (not the bulk ones) that are under way.
namespace evo::vgpu {

/// Ends the copies of these lanes of whose groups lands(lane, group) is true.
void land_copies(Warp& warp, std::uint32_t lanes, const std::function<bool(std::size_t, std::uint32_t)>& lands);
/// Ends all copies of these lanes.
void land_copies(Warp& warp, std::uint32_t lanes);

}  // namespace evo::vgpu
