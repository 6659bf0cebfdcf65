#include "evaluator/vgpu/numbers/tensor_core_estimate.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/numbers/tensor_core_sum.h"

namespace evo::vgpu {
namespace {

using T = MmaType;

/// A number of magnitude below 4, of any sign.
std::uint32_t draw(std::mt19937& random, T type) {
  const std::uint32_t bits = random();
  switch (type) {
    case T::e4m3:
      return (bits & 0x80) | (bits & 0x7f) % 0x48;
    case T::e5m2:
      return (bits & 0x80) | (bits & 0x7f) % 0x44;
    case T::f16:
      return (bits & 0x8000) | (bits & 0x7fff) % 0x4400;
    case T::bf16:
      return (bits & 0x8000) | (0x3f00 + bits % 0x180);
    default:
      return (bits & 0x80000000u) | (0x3f000000u + bits % 0x1800000);  // f32; tf32 ignores the low bits.
  }
}

std::vector<TileWord> draw_words(std::mt19937& random, T type, std::size_t count) {
  std::vector<TileWord> words(count);
  for (TileWord& word : words)
    for (std::uint32_t& bits : word.row)
      for (int skip = 0; skip < 32; skip += width_of(type)) bits |= draw(random, type) << skip;
  return words;
}

float number(std::uint32_t bits, T accumulator) {
  return accumulator == T::f16 ? f32_from_f16(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
}

/// The largest difference between estimated and exact sums of some tiles, relative to the magnitude of the terms.
double difference(T type, T accumulator, std::size_t words) {
  constexpr std::size_t kTiles = 3;
  std::mt19937 random(7);
  const std::vector<TileWord> a = draw_words(random, type, words), b = draw_words(random, type, kTiles * words);
  const BlockOperands operands{.a = a, .b = b, .type_a = type, .type_b = type, .elements = 32 / width_of(type)};
  std::array<TileSums, kTiles> exact{};
  for (TileSums& tile : exact)
    for (TileWord& column : tile)
      for (std::uint32_t& bits : column.row) bits = draw(random, accumulator);
  std::array<TileSums, kTiles> roughly = exact;
  const std::array<TileSums, kTiles> before = exact;
  SumRule rule{.block_k = 32, .fraction_bits = 25, .result_fraction_bits = 23};
  add_block(exact, operands, accumulator, rule, words);
  rule.estimated = true;
  add_block(roughly, operands, accumulator, rule, words);

  const double terms = static_cast<double>(words) * operands.elements * 16 + 4;  // Of less than 4 * 4 each.
  double worst = 0;
  bool changed = true;
  for (std::size_t tile = 0; tile < kTiles; ++tile)
    for (std::size_t column = 0; column < 8; ++column)
      for (std::size_t row = 0; row < 16; ++row) {
        const std::uint32_t bits = roughly[tile][column].row[row];
        changed &= bits != before[tile][column].row[row];
        worst = std::max(worst, std::fabs(static_cast<double>(number(bits, accumulator)) -
                                          number(exact[tile][column].row[row], accumulator)) /
                                    terms);
      }
  CHECK(changed);
  return worst;
}

TEST_CASE("estimated sums of products differ from a tensor core's only in the last bits") {
  constexpr double kF32 = 1e-6, kF16 = 5e-4;
  for (const T type : {T::e4m3, T::e5m2}) {
    CHECK(difference(type, T::f32, 8) < kF32);
    CHECK(difference(type, T::f16, 8) < kF16);
  }
  CHECK(difference(T::f16, T::f32, 8) < kF32);
  CHECK(difference(T::f16, T::f16, 8) < kF16);
  CHECK(difference(T::bf16, T::f32, 8) < kF32);
  CHECK(difference(T::tf32, T::f32, 8) < kF32);
}

}  // namespace
}  // namespace evo::vgpu
