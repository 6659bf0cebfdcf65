#pragma once

#include <cstdint>

#include "engine/task/plan.h"
#include "evaluator/device/device.h"

/// What a plan's launches are given, in numbers.
namespace evo::vgpu {

/// Blocks of a grid, threads of a block.
inline std::uint64_t volume(const Dim3& dims) {
  return std::uint64_t{dims[0]} * dims[1] * dims[2];
}

/// Of a tensor or workspace.
DeviceAddress address_of(const Argument& argument, const Buffers& buffers);

/// Distinct bytes that a launch can touch: the buffers that it is given, by pointer or tensor map.
std::int64_t footprint_of(const Plan& plan, const evo::Launch& planned);

}  // namespace evo::vgpu
