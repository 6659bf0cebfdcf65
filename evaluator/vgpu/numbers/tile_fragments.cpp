#include "evaluator/vgpu/numbers/tile_fragments.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "evaluator/vgpu/numbers/cpu_clones.h"

namespace evo::vgpu {

EVO_CPU_CLONES void to_rows(TileWord* words, int stride, const std::uint32_t* low, const std::uint32_t* high) {
  std::uint32_t* t0 = words[0].row.data();
  std::uint32_t* t1 = words[stride].row.data();
  std::uint32_t* t2 = words[2 * stride].row.data();
  std::uint32_t* t3 = words[3 * stride].row.data();
  for (const std::uint32_t* lanes : {low, high}) {
    EVO_LANE_LOOP
    for (int i = 0; i < 8; ++i) {
      t0[i] = lanes[4 * i];
      t1[i] = lanes[4 * i + 1];
      t2[i] = lanes[4 * i + 2];
      t3[i] = lanes[4 * i + 3];
    }
    t0 += 8;
    t1 += 8;
    t2 += 8;
    t3 += 8;
  }
}

EVO_CPU_CLONES void from_rows(const TileWord* words, int stride, std::uint32_t* low, std::uint32_t* high) {
  const std::uint32_t* t0 = words[0].row.data();
  const std::uint32_t* t1 = words[stride].row.data();
  const std::uint32_t* t2 = words[2 * stride].row.data();
  const std::uint32_t* t3 = words[3 * stride].row.data();
  for (std::uint32_t* lanes : {low, high}) {
    EVO_LANE_LOOP
    for (int i = 0; i < 8; ++i) {
      lanes[4 * i] = t0[i];
      lanes[4 * i + 1] = t1[i];
      lanes[4 * i + 2] = t2[i];
      lanes[4 * i + 3] = t3[i];
    }
    t0 += 8;
    t1 += 8;
    t2 += 8;
    t3 += 8;
  }
}

void load_words(TileSums& sums, const std::uint32_t* const* registers) {
  to_rows(&sums[0], 2, registers[0], registers[2]);
  to_rows(&sums[1], 2, registers[1], registers[3]);
}

void store_words(const TileSums& sums, std::uint32_t* const* registers) {
  from_rows(&sums[0], 2, registers[0], registers[2]);
  from_rows(&sums[1], 2, registers[1], registers[3]);
}

void load_halves(TileSums& sums, const std::uint32_t* const* registers) {
  to_rows(&sums[0], 2, registers[0], registers[1]);
  for (std::size_t column = 0; column < 8; column += 2)
    for (std::size_t row = 0; row < 16; ++row) {
      sums[column + 1].row[row] = sums[column].row[row] >> 16;
      sums[column].row[row] &= 0xffffu;
    }
}

void store_halves(const TileSums& sums, std::uint32_t* const* registers) {
  TileSums pairs = sums;
  for (std::size_t column = 0; column < 8; column += 2)
    for (std::size_t row = 0; row < 16; ++row) pairs[column].row[row] |= sums[column + 1].row[row] << 16;
  from_rows(&pairs[0], 2, registers[0], registers[1]);
}

namespace {

using Ints16 = std::int32_t __attribute__((vector_size(64)));
using Words16 = std::uint32_t __attribute__((vector_size(64)));

/// Element e of 16 words, as integers.
[[gnu::always_inline]] inline void unpack_integers(Ints16& to, const TileWord& word, int element, int width,
                                                   bool is_signed) {
  const Words16 top = *(const Words16*)word.row.data() << (32 - width - element * width);
  to = is_signed ? (Ints16)top >> (32 - width) : (Ints16)(top >> (32 - width));
}

using Products = std::array<Ints16, 8>;

EVO_CPU_CLONES void multiply(Products& products, std::span<const TileWord> a, std::span<const TileWord> b,
                             const IntegerFactors& factors) {
  for (std::size_t group = 0; group < a.size(); ++group)
    for (int e = 0; e < 32 / factors.width; ++e) {
      Ints16 x, y;
      unpack_integers(x, a[group], e, factors.width, factors.signed_a);
      unpack_integers(y, b[group], e, factors.width, factors.signed_b);
      for (std::size_t column = 0; column < 8; ++column) products[column] += x * y[column];
    }
}

void count_bits(Products& products, std::span<const TileWord> a, std::span<const TileWord> b, bool exclusive_or) {
  for (std::size_t group = 0; group < a.size(); ++group)
    for (std::size_t column = 0; column < 8; ++column)
      for (std::size_t row = 0; row < 16; ++row) {
        const std::uint32_t x = a[group].row[row], y = b[group].row[column];
        products[column][row] += std::popcount(exclusive_or ? x ^ y : x & y);
      }
}

}  // namespace

void add_integers(TileSums& sums, std::span<const TileWord> a, std::span<const TileWord> b,
                  const IntegerFactors& factors) {
  Products products{};
  factors.width == 1 ? count_bits(products, a, b, factors.exclusive_or) : multiply(products, a, b, factors);
  for (std::size_t column = 0; column < 8; ++column)
    for (std::size_t row = 0; row < 16; ++row) {
      std::uint32_t& sum = sums[column].row[row];
      const std::int64_t exact = std::int64_t{static_cast<std::int32_t>(sum)} + products[column][row];
      constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
      constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
      sum = static_cast<std::uint32_t>(factors.saturate ? std::clamp(exact, kLeast, kMost) : exact);
    }
}

}  // namespace evo::vgpu
