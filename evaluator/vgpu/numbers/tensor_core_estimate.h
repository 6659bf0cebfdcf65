#pragma once

#include <cstddef>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"

namespace evo::vgpu {

/// add_block in the CPU's f32 arithmetic, which is several times faster. The last bits differ, and infinities and NaNs
/// among the operands count as large numbers. The bits are the same on every CPU. The cost model uses it: products
/// matter there only where they decide a branch.
void estimate_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, std::size_t b_step);

}  // namespace evo::vgpu
