#include "evaluator/vgpu/tcgen05/tensor_product.h"

#include <bit>
#include <cmath>
#include <limits>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/numbers/tensor_core_sum.h"
#include "evaluator/vgpu/numbers/tile_fragments.h"

namespace evo::vgpu {
namespace {

constexpr int kMostTensorElements = 64;  ///< Along k.

MmaType mma_type_of(TensorFormat format) {
  switch (format) {
    case TensorFormat::bf16:
      return MmaType::bf16;
    case TensorFormat::tf32:
      return MmaType::tf32;
    case TensorFormat::e5m2:
      return MmaType::e5m2;
    case TensorFormat::u8:
      return MmaType::u8;
    case TensorFormat::s8:
      return MmaType::s8;
    case TensorFormat::f16:
      return MmaType::f16;
    default:
      return MmaType::e4m3;  // The smaller formats, too, once they are prepared.
  }
}

/// Xie et al. 2025, arXiv 2511.10909: all kinds keep 25 bits.
SumRule tensor_sum_rule(const TensorShape& shape, bool estimated) {
  return {.block_k = shape.k(), .fraction_bits = 25, .result_fraction_bits = 23, .estimated = estimated};
}

void multiply_floats(const TensorShape& shape, const TensorTiles& tiles) {
  const BlockOperands operands{.a = tiles.a,
                               .b = tiles.b,
                               .type_a = mma_type_of(shape.a),
                               .type_b = mma_type_of(shape.b),
                               .elements = 4 / container_bytes(shape.a)};
  add_block(tiles.sums, operands, shape.d == TensorFormat::f16 ? MmaType::f16 : MmaType::f32,
            tensor_sum_rule(shape, tiles.estimated), kTensorWords);
}

void multiply_integers(const TensorShape& shape, const TensorTiles& tiles) {
  for (std::size_t tile = 0; tile < tiles.sums.size(); ++tile)
    add_integers(tiles.sums[tile], tiles.a, tiles.b.subspan(tile * kTensorWords, kTensorWords),
                 {8, shape.a == TensorFormat::s8, shape.b == TensorFormat::s8, shape.saturate});
}

// ---- Block scaling

float value_of_e2m1(std::uint32_t bits) {
  constexpr std::array<float, 8> kValues = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -kValues[bits & 7] : kValues[bits & 7];
}

using TensorElements = std::array<float, kMostTensorElements>;

TensorElements tensor_elements(const TensorShape& shape, TensorFormat format, std::span<const TileWord> words,
                               std::size_t row) {
  TensorElements elements{};
  for (int k = 0; k < shape.k(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (shape.packed()) {
      elements[at] = value_of_e2m1(words[at / 8].row[row] >> k % 8 * 4 & 15u);
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(words[at / 4].row[row] >> k % 4 * 8);
    elements[at] = format == TensorFormat::e5m2 ? f32_from_e5m2(byte) : f32_from_e4m3(byte);
  }
  return elements;
}

std::uint32_t scaled_sum(std::uint32_t sum, const TensorElements& a, const TensorElements& b,
                         const ScaleFactors& scale_a, const ScaleFactors& scale_b, int k, int scales) {
  double total = std::bit_cast<float>(sum);
  for (int s = 0; s < scales; ++s) {
    double block = 0;
    for (int i = s * k / scales; i < (s + 1) * k / scales; ++i)
      block += double{a[static_cast<std::size_t>(i)]} * b[static_cast<std::size_t>(i)];
    total += block * (scale_a[static_cast<std::size_t>(s)] * scale_b[static_cast<std::size_t>(s)]);
  }
  return std::bit_cast<std::uint32_t>(canonical(static_cast<float>(total)));
}

void multiply_scaled(const TensorShape& shape, const TensorTiles& tiles) {
  std::array<TensorElements, 16> a;
  for (std::size_t row = 0; row < a.size(); ++row) a[row] = tensor_elements(shape, shape.a, tiles.a, row);
  for (std::size_t tile = 0; tile < tiles.sums.size(); ++tile)
    for (std::size_t column = 0; column < 8; ++column) {
      const TensorElements b =
          tensor_elements(shape, shape.b, tiles.b.subspan(tile * kTensorWords, kTensorWords), column);
      for (std::size_t row = 0; row < a.size(); ++row) {
        std::uint32_t& sum = tiles.sums[tile][column].row[row];
        sum = scaled_sum(sum, a[row], b, tiles.scale_a[row], tiles.scale_b[tile * 8 + column], shape.k(), tiles.scales);
      }
    }
}

// ---- Formats

/// An element of a byte, as tensor memory holds it, in e4m3.
std::uint32_t e4m3_of(TensorFormat format, std::uint32_t byte) {
  float value = 0;
  if (format == TensorFormat::e2m1) {
    value = value_of_e2m1(byte >> 2 & 15u);
  } else {
    const int fraction_bits = format == TensorFormat::e2m3 ? 3 : 2, bias = format == TensorFormat::e2m3 ? 1 : 3;
    const int fraction = static_cast<int>(byte & ((1u << fraction_bits) - 1));
    const int exponent = static_cast<int>(byte >> fraction_bits & ((1u << (5 - fraction_bits)) - 1));
    const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    value = std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
    if ((byte & 0x20u) != 0) value = -value;
  }
  return e4m3_from_f32(value);
}

bool is_below_eight_bits(TensorFormat format) {
  return format == TensorFormat::e2m1 || format == TensorFormat::e2m3 || format == TensorFormat::e3m2;
}

std::uint32_t tensor_signs(const TensorShape& shape, TensorFormat format) {
  if (shape.packed()) return 0x88888888u;
  const int bytes = container_bytes(format);
  return bytes == 1 ? 0x80808080u : bytes == 2 ? 0x80008000u : 0x80000000u;
}

/// Four words of one row: sixteen elements.
void make_e4m3(TensorFormat format, bool compact, std::span<TileWord> words, std::size_t row) {
  std::array<std::uint32_t, 4> four;
  for (std::size_t i = 0; i < four.size(); ++i) four[i] = words[i].row[row];
  if (compact) four = spread_elements(four, format == TensorFormat::e2m1 ? 4 : 6);
  for (std::size_t i = 0; i < four.size(); ++i) {
    std::uint32_t word = 0;
    for (int at = 0; at < 32; at += 8) word |= e4m3_of(format, four[i] >> at & 0xffu) << at;
    words[i].row[row] = word;
  }
}

}  // namespace

void multiply_tiles(const TensorShape& shape, const TensorTiles& tiles) {
  if (is_block_scaled(shape.kind))
    multiply_scaled(shape, tiles);
  else if (shape.kind == TensorKind::i8)
    multiply_integers(shape, tiles);
  else
    multiply_floats(shape, tiles);
}

void prepare_operand(const TensorShape& shape, TensorFormat format, bool negate, bool compact,
                     std::span<TileWord> words) {
  if (is_below_eight_bits(format) && !shape.packed())
    for (std::size_t at = 0; at < words.size(); at += 4)
      for (std::size_t row = 0; row < 16; ++row) make_e4m3(format, compact, words.subspan(at, 4), row);
  if (!negate) return;
  for (TileWord& word : words)
    for (std::uint32_t& bits : word.row) bits ^= tensor_signs(shape, format);
}

std::array<std::uint32_t, 4> spread_elements(std::array<std::uint32_t, 4> words, int bits) {
  std::array<std::uint32_t, 4> spread{};
  for (int i = 0; i < 16; ++i) {
    const auto from = static_cast<std::size_t>(i * bits);
    std::uint64_t two = words[from / 32];
    if (from / 32 + 1 < words.size()) two |= std::uint64_t{words[from / 32 + 1]} << 32;
    const auto element = static_cast<std::uint32_t>(two >> from % 32) & ((1u << bits) - 1);
    spread[static_cast<std::size_t>(i / 4)] |= (bits == 4 ? element << 2 : element) << i % 4 * 8;
  }
  return spread;
}

double scale_factor(std::uint8_t bits, bool ue8m0) {
  if (!ue8m0) return f32_from_e4m3(bits & 0x7fu);
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

std::uint32_t shifted_down(std::uint32_t sum, int shift, TensorFormat format) {
  if (shift == 0) return sum;
  if (format == TensorFormat::f16)
    return f16_from_f32(std::ldexp(f32_from_f16(static_cast<std::uint16_t>(sum)), -shift));
  return std::bit_cast<std::uint32_t>(std::ldexp(std::bit_cast<float>(sum), -shift));
}

}  // namespace evo::vgpu
