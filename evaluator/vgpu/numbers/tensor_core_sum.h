#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/numbers/tensor_core.h"

/// The floating-point arithmetic inside a tensor core, apart from how registers hold fragments.
namespace evo::vgpu {

/// Words side by side: one for each of 16 rows (or 8 columns; the others are then ignored).
struct alignas(64) TileWord {
  std::array<std::uint32_t, 16> row{};
};

/// The running sums of a 16 x 8 tile, column by column, as f32 or f16 bit patterns in the low bits.
using TileSums = std::array<TileWord, 8>;

/// One block of k. Each word of `a` holds, for each of 16 rows, as many elements that follow each other in k as fit
/// 32 bits; `b` the same for 8 columns, tile after tile. Types: f16, bf16, tf32 (one in each word, its low 13 bits are
/// ignored), e4m3, e5m2.
struct BlockOperands {
  std::span<const TileWord> a;
  std::span<const TileWord> b;
  MmaType type_a = MmaType::f16;
  MmaType type_b = MmaType::f16;
  int first_element = 0;  ///< Of each word; the ones before and after these take no part.
  int elements = 2;
  /// 8-bit floats count as the f16 numbers that they widen to: e4m3's subnormals have exponents of their own there.
  bool widened = false;
};

/// sums = A . B + sums, where `sums` and `b` may be of several tiles side by side; the accumulator is f32 or f16. At
/// most 32 elements of k, an even number. `b_step` is the number of words from a tile of `b` to the next.
void add_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, const SumRule& rule,
               std::size_t b_step = 0);
inline void add_block(TileSums& sums, const BlockOperands& operands, MmaType accumulator, const SumRule& rule) {
  add_block(std::span(&sums, 1), operands, accumulator, rule);
}

}  // namespace evo::vgpu
