#pragma once

#include <cstdint>

#include "evaluator/vgpu/numbers/tiles.h"

/// Conversions between fragments in registers (rows of 32 lanes) and tiles.
namespace evo::vgpu {

/// Fills a tile from registers. Lane 4 i + t of `low` holds row i, of `high` row 8 + i. Its word is the t-th along k
/// (or the t-th pair of columns of an accumulator) and goes to words[t * stride].
void to_rows(TileWord* words, int stride, const std::uint32_t* low, const std::uint32_t* high);
/// The inverse of to_rows.
void from_rows(const TileWord* words, int stride, std::uint32_t* low, std::uint32_t* high);

// Accumulators of 16 rows and 8 columns. f32 and s32: four registers, 2 p + q holds rows 8 p + i and columns 2 t + q.
// f16: two, each a pair of columns.
void load_words(TileSums& sums, const std::uint32_t* const* registers);
void store_words(const TileSums& sums, std::uint32_t* const* registers);
void load_halves(TileSums& sums, const std::uint32_t* const* registers);
void store_halves(const TileSums& sums, std::uint32_t* const* registers);

/// sums += A . B of integers of `width` bits (1: and or exclusive or, then count), wrapping or saturating at the end.
/// `a` and `b` hold as many words along k: at most 64 products are summed, or 512 of bits.
struct IntegerFactors {
  int width = 8;
  bool signed_a = true;
  bool signed_b = true;
  bool saturate = false;
  bool exclusive_or = false;
};
void add_integers(TileSums& sums, std::span<const TileWord> a, std::span<const TileWord> b,
                  const IntegerFactors& factors);

}  // namespace evo::vgpu
