#include "evaluator/vgpu/numbers/block_scaled_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace evo::vgpu {
namespace {

constexpr int kFractionBits = 35;
constexpr std::uint32_t kNan = 0x7fffffff;
constexpr std::size_t kRows = 16, kColumns = 8, kGroupWords = 2;  ///< 16 elements in two words.

/// significand * 2^exponent; of a scale the significand has three fraction bits, of an f32 23.
struct Number {
  std::int64_t significand = 0;
  int exponent = 0;
};

bool is_nan_scale(std::uint8_t code, ScaleType type) {
  return type == ScaleType::ue8m0 ? code == kScaleNan : (code & 0x7fu) == 0x7fu;
}

/// The upper bit of ue4m3 is ignored.
Number scale_of(std::uint8_t code, ScaleType type) {
  if (type == ScaleType::ue8m0) return {8, exponent_of_scale(code)};
  const int fraction = code & 7, field = code >> 3 & 15;
  return {field > 0 ? 8 + fraction : fraction, (field > 0 ? field : 1) - 7};
}

/// Twice the value of an e2m1 code.
int twice(std::uint32_t code) {
  constexpr int kTwice[] = {0, 1, 2, 3, 4, 6, 8, 12};
  return (code & 8u) != 0 ? -kTwice[code & 7u] : kTwice[code & 7u];
}

/// Four times the sum of 16 products.
int group_product(const TileWord* a, const TileWord* b, std::size_t row, std::size_t column) {
  int sum = 0;
  for (std::size_t word = 0; word < kGroupWords; ++word)
    for (int element = 0; element < 32; element += 4)
      sum += twice(a[word].row[row] >> element & 15u) * twice(b[word].row[column] >> element & 15u);
  return sum;
}

Number parts_of(std::uint32_t f32) {
  const int field = static_cast<int>(f32 >> 23 & 0xffu);
  const std::int64_t magnitude = static_cast<std::int64_t>(f32 & 0x7fffffu) | (field > 0 ? 0x800000 : 0);
  return {(f32 >> 31) != 0 ? -magnitude : magnitude, (field > 0 ? field : 1) - 127};
}

/// significand * 2^shift, cut towards zero.
std::int64_t shifted(std::int64_t significand, int shift) {
  if (shift >= 0) return significand << shift;
  const std::int64_t kept = shift < -62 ? 0 : std::abs(significand) >> -shift;
  return significand < 0 ? -kept : kept;
}

/// sum * 2^exponent as f32, cut towards zero; overflow gives infinity.
std::uint32_t cut_to_f32(std::int64_t sum, int exponent) {
  if (sum == 0) return 0;
  const std::uint32_t sign = sum < 0 ? 0x80000000u : 0;
  auto magnitude = static_cast<std::uint64_t>(std::abs(sum));
  const int width = std::bit_width(magnitude);
  int field = exponent + width - 1 + 127;
  if (field >= 255) return sign | 0x7f800000u;
  const int drop = width - 24 + (field < 1 ? 1 - field : 0);
  magnitude = drop > 63 ? 0 : drop > 0 ? magnitude >> drop : magnitude << -drop;
  if (magnitude == 0) return 0;
  if (field < 1) return sign | static_cast<std::uint32_t>(magnitude);
  return sign | static_cast<std::uint32_t>(field) << 23 | (static_cast<std::uint32_t>(magnitude) & 0x7fffffu);
}

std::uint32_t sum_of(std::uint32_t c, std::span<const Number> groups) {
  if ((c & 0x7f800000u) == 0x7f800000u) return (c & 0x7fffffu) != 0 ? kNan : c;
  const Number running = parts_of(c);
  int top = running.significand != 0 ? running.exponent : std::numeric_limits<int>::min();
  for (const Number& group : groups)
    if (group.significand != 0) top = std::max(top, group.exponent);
  if (top == std::numeric_limits<int>::min()) return 0;
  // A group has two fraction bits of its products and three of each scale.
  std::int64_t sum = shifted(running.significand, running.exponent - top + kFractionBits - 23);
  for (const Number& group : groups)
    if (group.significand != 0) sum += shifted(group.significand, group.exponent - top + kFractionBits - 8);
  return cut_to_f32(sum, top - kFractionBits);
}

}  // namespace

void spread_nan_scales(TileSums& sums, const MmaScales& scales, int blocks, ScaleType type) {
  const auto has_nan = [&](const std::array<std::uint8_t, 4>& codes) {
    return std::any_of(codes.begin(), codes.begin() + blocks,
                       [&](std::uint8_t code) { return is_nan_scale(code, type); });
  };
  for (std::size_t column = 0; column < kColumns; ++column)
    for (std::size_t row = 0; row < kRows; ++row)
      if (has_nan(scales.a[row]) || has_nan(scales.b[column])) sums[column].row[row] = kNan;
}

void add_packed(TileSums& sums, std::span<const TileWord> a, std::span<const TileWord> b, const MmaScales& scales,
                int blocks, ScaleType type) {
  const std::size_t groups = a.size() / kGroupWords, groups_per_block = groups / static_cast<std::size_t>(blocks);
  std::array<Number, 4> terms;
  for (std::size_t column = 0; column < kColumns; ++column)
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t block = group / groups_per_block, word = group * kGroupWords;
        const Number x = scale_of(scales.a[row][block], type), y = scale_of(scales.b[column][block], type);
        terms[group] = {group_product(&a[word], &b[word], row, column) * x.significand * y.significand,
                        x.exponent + y.exponent};
      }
      sums[column].row[row] = sum_of(sums[column].row[row], std::span(terms).first(groups));
    }
  spread_nan_scales(sums, scales, blocks, type);
}

}  // namespace evo::vgpu
