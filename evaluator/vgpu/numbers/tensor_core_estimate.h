#pragma once

#include <cstddef>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"

namespace evo::vgpu {

/// What add_block computes as a CPU multiplies and adds in f32: a multiple faster, the last bits differ, and infinities
/// and NaNs among the operands count as large numbers. The same bits on every CPU. For a cost model, which follows a
/// kernel's branches but asks for no results.
void estimate_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, std::size_t b_step);

}  // namespace evo::vgpu
