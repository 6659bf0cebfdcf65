#pragma once

#include <span>

#include "evaluator/vgpu/decode/decoder.h"

namespace evo::vgpu {

/// Scalar and SIMD video instructions.
std::span<const Operation> video_operations();

}  // namespace evo::vgpu
