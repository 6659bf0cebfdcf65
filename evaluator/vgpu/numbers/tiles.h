#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/numbers/mma_form.h"

/// Matrices as the tensor core takes them, apart from how registers and shared memory hold them.
namespace evo::vgpu {

/// One word of each of 16 rows. For columns only the first eight count.
struct alignas(64) TileWord {
  std::array<std::uint32_t, 16> row{};
};

/// The running sums of a 16 x 8 tile, column by column, as f32 or f16 bit patterns in the low bits.
using TileSums = std::array<TileWord, 8>;

/// The operands of one block of k. A word of `a` holds consecutive elements of k, as many as fit 32 bits, for each of
/// 16 rows. `b` holds the same for 8 columns, tile after tile. Types: f16, bf16, tf32 (one in each word, whose low 13
/// bits are ignored), e4m3, e5m2.
struct BlockOperands {
  std::span<const TileWord> a;
  std::span<const TileWord> b;
  MmaType type_a = MmaType::f16;
  MmaType type_b = MmaType::f16;
  int first_element = 0;  ///< Of each word: the first one that takes part.
  int elements = 2;       ///< Of each word: how many take part.
  /// 8-bit floats count as the f16 numbers that they widen to, where e4m3's subnormals are normal numbers.
  bool widened = false;
  /// Exponents that multiply the rows of A and the columns of B by powers of two; null: none.
  const std::int32_t* scale_a = nullptr;
  const std::int32_t* scale_b = nullptr;
};

}  // namespace evo::vgpu
