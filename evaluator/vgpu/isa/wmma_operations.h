#pragma once

#include <span>

#include "evaluator/vgpu/decode/decoder.h"

namespace evo::vgpu {

/// wmma.load, wmma.mma and wmma.store.
std::span<const Operation> wmma_operations();

}  // namespace evo::vgpu
