#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/tensor_core.h"

/// The floating-point arithmetic inside a tensor core, apart from how registers hold fragments.
namespace evo::vgpu {

/// 16 words side by side: one for each row of a tile.
using Words16 = std::uint32_t __attribute__((vector_size(64)));

/// The running sums of a 16 x 8 tile, column by column, as f32 or f16 bit patterns in the low bits.
using TileSums = std::array<Words16, 8>;

/// sums = A . B + sums for one block of k. Each word of `a` holds, for each of 16 rows, as many elements that follow
/// each other in k as fit 32 bits; `b` the same for 8 columns (the other 8 words of each are ignored). Types: f16,
/// bf16, tf32 (one in each word, its low 13 bits are ignored), e4m3, e5m2; the accumulator f32 or f16.
/// At most 32 elements of k.
void add_block(TileSums& sums, std::span<const Words16> a, std::span<const Words16> b, MmaType type_a, MmaType type_b,
               MmaType accumulator, const SumRule& rule);

}  // namespace evo::vgpu
