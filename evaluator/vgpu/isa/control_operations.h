#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/warp.h"

namespace evo::vgpu {

/// Lanes that were divided meet here (instructions that the decoder inserts).
void execute_reconverge(Warp& warp, const Instruction& instruction, std::uint32_t mask);
/// The end of a kernel.
void execute_exit(Warp& warp, const Instruction& instruction, std::uint32_t mask);

}  // namespace evo::vgpu
