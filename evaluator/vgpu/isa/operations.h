#pragma once

#include <span>

#include "evaluator/vgpu/decode/operation.h"

namespace evo::vgpu {

/// The instruction set, by subject. integer_operations() stands in integer_operations.cpp, and the others likewise.
/// Each list is complete for its names: a decode function refuses the forms that it does not know.
std::span<const Operation> integer_operations();
std::span<const Operation> bit_operations();
std::span<const Operation> carry_operations();
std::span<const Operation> video_operations();
std::span<const Operation> float_operations();
std::span<const Operation> half_operations();
std::span<const Operation> compare_operations();
std::span<const Operation> convert_operations();
std::span<const Operation> move_operations();
std::span<const Operation> memory_operations();
std::span<const Operation> atomic_operations();
std::span<const Operation> async_operations();
std::span<const Operation> mbarrier_operations();
std::span<const Operation> tensor_operations();
std::span<const Operation> cluster_operations();
std::span<const Operation> warp_operations();
std::span<const Operation> matrix_operations();
std::span<const Operation> warpgroup_operations();
std::span<const Operation> wmma_operations();
std::span<const Operation> barrier_operations();
std::span<const Operation> hint_operations();
std::span<const Operation> control_operations();
std::span<const Operation> stack_operations();

}  // namespace evo::vgpu
