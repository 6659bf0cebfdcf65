#pragma once

#include <cstddef>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"

/// The floating-point sums of a tensor core.
namespace evo::vgpu {

/// How a tensor core sums products in floating point. It takes `block_k` exact products and the running sum and aligns
/// them to the largest exponent among them. A product's exponent is the sum of its factors' exponents; subnormals have
/// the lowest normal exponent. Each term is cut to `fraction_bits` bits below the largest exponent; the cut terms are
/// added exactly, and the sum is normalised. An f32 result is cut to `result_fraction_bits`, an f16 result is rounded
/// to nearest even. A form with a larger k chains blocks in ascending k. Fasi et al. 2021, "Numerical behavior of
/// NVIDIA tensor cores"; Xie et al. 2025, arXiv 2511.10909.
struct SumRule {
  int block_k = 16;
  int fraction_bits = 25;         ///< At most 25.
  int result_fraction_bits = 23;  ///< Of an f32 result.
  bool estimated = false;         ///< Sums in the CPU's f32 instead (tensor_core_estimate.h).
};

/// sums = A . B + sums. The accumulator is f32 or f16, and k is even and at most 32. With several tiles side by side,
/// `b_step` is the number of words from a tile of `b` to the next.
void add_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, const SumRule& rule,
               std::size_t b_step = 0);
inline void add_block(TileSums& sums, const BlockOperands& operands, MmaType accumulator, const SumRule& rule) {
  add_block(std::span(&sums, 1), operands, accumulator, rule);
}

}  // namespace evo::vgpu
