#include "evaluator/vgpu/numbers/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "evaluator/vgpu/numbers/half_lanes.h"
#include "evaluator/vgpu/numbers/rounding.h"
#include "evaluator/vgpu/numbers/row_conversions.h"
#include "evaluator/vgpu/numbers/sparse_selection.h"
#include "evaluator/vgpu/numbers/tile_fragments.h"

namespace evo::vgpu {
namespace {

using Row = std::array<std::uint32_t, kLanes>;

constexpr int kMaxGroups = 8;  ///< Most words along k: the longest row (32 bytes) of a dense B.

bool is_signed(MmaType type) {
  return type == MmaType::s8 || type == MmaType::s4;
}

/// Fragments as words along k (PTX ISA 9.7.14.5). A's registers come in pairs for rows 0-7 and 8-15; each pair is four
/// words further along k than the one before. B's registers follow each other along k.
struct TileWords {
  std::array<TileWord, kMaxGroups> a;
  std::array<TileWord, kMaxGroups> b;
  int groups = 0;

  using Rows = std::array<const std::uint32_t*, 8>;

  TileWords(const Rows& rows_a, const Rows& rows_b, int registers_b, bool sixteen_rows = true)
      : groups(4 * registers_b) {
    for (int r = 0; r < registers_b; ++r) {
      if (sixteen_rows)
        to_rows(&a[4 * r], 1, rows_a[2 * r], rows_a[2 * r + 1]);
      else
        to_rows(&a[4 * r], 1, rows_a[r], rows_a[r]);
      to_rows(&b[4 * r], 1, rows_b[r], rows_b[r]);
    }
  }
};

/// The scales of the rows and columns of a product that has one of each.
struct ScaleExponents {
  std::array<std::int32_t, 16> a{};
  std::array<std::int32_t, 8> b{};

  explicit ScaleExponents(const MmaScales& scales) {
    std::ranges::transform(scales.a, a.begin(), [](const auto& codes) { return exponent_of_scale(codes[0]); });
    std::ranges::transform(scales.b, b.begin(), [](const auto& codes) { return exponent_of_scale(codes[0]); });
  }
};

/// Chains the rule's blocks over all of k.
void add_blocks(TileSums& sums, const TileWords& words, const MmaForm& form, const SumRule& rule,
                const ScaleExponents* scales = nullptr) {
  const int per_word = 32 / width_of(form.a);
  const int step = std::min((form.by_fours ? 4 : rule.block_k) / per_word, words.groups);
  for (int at = 0; at < words.groups; at += step)
    add_block(sums,
              {.a = std::span(words.a).subspan(at, step),
               .b = std::span(words.b).subspan(at, step),
               .type_a = form.a,
               .type_b = form.b,
               .elements = per_word,
               .scale_a = scales != nullptr ? scales->a.data() : nullptr,
               .scale_b = scales != nullptr ? scales->b.data() : nullptr},
              form.accumulator, rule);
}

// ---- 8-bit floats on Hopper: two products of f16 operands, then an addition.

/// sums += c, rounded once to nearest, with canonical NaNs. Two columns are one row of 32 lanes.
void add_c(TileSums& sums, const TileSums& c, MmaType accumulator) {
  for (int column = 0; column < 8; column += 2) {
    Row x, y;
    std::copy_n(sums[column].row.data(), kLanes, x.data());
    std::copy_n(c[column].row.data(), kLanes, y.data());
    if (accumulator == MmaType::f16) {
      row::cvt_f32_f16(x.data(), x.data());
      row::cvt_f32_f16(y.data(), y.data());
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const float sum = std::bit_cast<float>(x[lane]) + std::bit_cast<float>(y[lane]);
      x[lane] = sum != sum ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
    }
    if (accumulator == MmaType::f16)
      row::cvt_f16_f32(x.data(), x.data());  // f32 has enough bits for a second rounding.
    std::copy_n(x.data(), kLanes, sums[column].row.data());
  }
}

void multiply_fp8_through_f16(TileSums& sums, const MmaForm& form, const TileWords& words, const SumRule& half) {
  TileSums products{};
  for (int first : {0, 2})
    add_block(products,
              {.a = std::span(words.a).first(words.groups),
               .b = std::span(words.b).first(words.groups),
               .type_a = form.a,
               .type_b = form.b,
               .first_element = first,
               .elements = 2,
               .widened = true},
              form.accumulator, half);
  add_c(products, sums, form.accumulator);
  sums = products;
}

/// With scales.
void add_scaled(TileSums& sums, const TileWords& words, const MmaForm& form, const TensorCoreNumerics& numerics,
                const MmaScales& scales) {
  const auto groups = static_cast<std::size_t>(words.groups);
  if (form.packed)
    return add_packed(sums, std::span(words.a).first(groups), std::span(words.b).first(groups), scales,
                      form.scale_blocks, form.scale_type);
  const ScaleExponents exponents(scales);
  add_blocks(sums, words, form, numerics.fp8, &exponents);
  spread_nan_scales(sums, scales, form.scale_blocks, form.scale_type);
}

void add_float(TileSums& sums, const TileWords& words, const MmaForm& form, const TensorCoreNumerics& numerics,
               const MmaScales* scales) {
  if (scales != nullptr) return add_scaled(sums, words, form, numerics, *scales);
  if (is_fp8(form.a) && numerics.fp8_through_f16) return multiply_fp8_through_f16(sums, form, words, numerics.half);
  add_blocks(sums, words, form,
             is_in_byte(form.a)        ? numerics.fp8
             : form.a == MmaType::tf32 ? numerics.tf32
                                       : numerics.half);
}

/// Applies a function over rows of 32 lanes to a tile, two columns at a time.
template <class Function>
void convert_columns(TileSums& sums, Function function) {
  for (std::size_t column = 0; column < sums.size(); column += 2) {
    Row pair;
    std::copy_n(sums[column].row.data(), 16, pair.data());
    std::copy_n(sums[column + 1].row.data(), 16, pair.data() + 16);
    function(pair.data());
    std::copy_n(pair.data(), 16, sums[column].row.data());
    std::copy_n(pair.data() + 16, 16, sums[column + 1].row.data());
  }
}

void widen(TileSums& sums) {
  convert_columns(sums, [](std::uint32_t* row) { row::cvt_f32_f16(row, row); });
}
void narrow(TileSums& sums) {
  convert_columns(sums, [](std::uint32_t* row) { row::cvt_f16_f32(row, row); });
}

void multiply_float(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands,
                    const MmaRegisters& registers) {
  const bool halves = form.accumulator == MmaType::f16;
  TileSums sums;
  halves || form.half_c ? load_halves(sums, operands.c.data()) : load_words(sums, operands.c.data());
  if (form.half_c) widen(sums);
  add_float(sums, TileWords(operands.a, operands.b, registers.b), form, numerics, operands.scales);
  if (form.half_d) narrow(sums);
  halves || form.half_d ? store_halves(sums, operands.d.data()) : store_words(sums, operands.d.data());
}

// ---- The four products of m8n8k4 (PTX ISA 9.7.14.5.1).

struct Element {
  int row = 0;
  int column = 0;
};

/// The i-th element of A (row and k) that a lane of a quad pair holds, or of B (column and k) with the other layout.
Element factor_of(int lane, int i, bool by_columns) {
  const int quad = lane / 16 * 4, place = lane % 4;
  return by_columns ? Element{quad + i, place} : Element{quad + place, i};
}
Element half_sum_of(int lane, int i) {
  return {lane / 16 * 4 + lane % 4, i};
}
Element word_sum_of(int lane, int i) {
  return {lane / 16 * 4 + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)};
}

/// Visits the lanes of a quad pair and the elements that each holds.
template <class Visit>
void each_element(int pair, int elements, Visit visit) {
  for (const int upper : {0, 16})
    for (int lane = upper + 4 * pair; lane < upper + 4 * pair + 4; ++lane)
      for (int i = 0; i < elements; ++i) visit(lane, i);
}

std::uint32_t half_in(const std::uint32_t* word, int i) {
  return word[0] >> 16 * (i % 2) & 0xffffu;
}

/// Since Ampere ptxas emits ordinary instructions that each round to the nearest f32. Products are added in ascending
/// k. C is added to the sum of all four, or of the first two where sums are f16.
std::uint32_t quad_pair_sum(const std::array<float, 4>& a, const std::array<float, 4>& b, float c, bool halves) {
  const std::size_t before_c = halves ? 2 : 4;
  float sum = a[0] * b[0];
  for (std::size_t k = 1; k < 4; ++k) {
    if (k == before_c) sum += c;
    sum = std::fma(a[k], b[k], sum);
  }
  if (before_c == 4) sum += c;
  return sum != sum ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
}

void multiply_quad_pairs(const MmaForm& form, const MmaOperands& operands) {
  const bool halves = form.accumulator == MmaType::f16;
  const bool half_c = halves || form.half_c;
  std::array<Row, 8> results{};
  for (int pair = 0; pair < 4; ++pair) {
    std::array<std::array<float, 4>, 8> a{}, b{};  // By rows, and by columns.
    std::array<std::array<float, 8>, 8> c{};
    each_element(pair, 4, [&](int lane, int i) {
      const Element of_a = factor_of(lane, i, form.a_by_columns), of_b = factor_of(lane, i, form.b_by_rows);
      a[of_a.row][of_a.column] = F16::widen(half_in(&operands.a[i / 2][lane], i));
      b[of_b.row][of_b.column] = F16::widen(half_in(&operands.b[i / 2][lane], i));
    });
    each_element(pair, 8, [&](int lane, int i) {
      const Element at = half_c ? half_sum_of(lane, i) : word_sum_of(lane, i);
      c[at.row][at.column] =
          half_c ? F16::widen(half_in(&operands.c[i / 2][lane], i)) : std::bit_cast<float>(operands.c[i][lane]);
    });
    each_element(pair, 8, [&](int lane, int i) {
      const Element at = halves ? half_sum_of(lane, i) : word_sum_of(lane, i);
      const std::uint32_t bits = quad_pair_sum(a[at.row], b[at.column], c[at.row][at.column], halves);
      if (halves) {
        results[i / 2][lane] |= F16::narrow(std::bit_cast<float>(bits)) << 16 * (i % 2);
      } else {
        results[i][lane] = bits;
      }
    });
  }
  for (int i = 0; i < (halves ? 4 : 8); ++i) std::copy(results[i].begin(), results[i].end(), operands.d[i]);
}

// ---- Integers: exact, then wrapped or saturated.

void multiply_integer(const MmaForm& form, const MmaOperands& operands, const MmaRegisters& registers) {
  const bool sixteen_rows = form.m == 16;
  TileSums sums;
  Row unused;  // Rows 8 to 15, where there are none.
  for (int q = 0; q < 2; ++q) to_rows(&sums[q], 2, operands.c[q], sixteen_rows ? operands.c[2 + q] : operands.c[q]);
  const TileWords words(operands.a, operands.b, registers.b, sixteen_rows);
  const auto groups = static_cast<std::size_t>(words.groups);
  add_integers(sums, std::span(words.a).first(groups), std::span(words.b).first(groups),
               {width_of(form.a), is_signed(form.a), is_signed(form.b), form.saturate, form.exclusive_or});
  for (int q = 0; q < 2; ++q) from_rows(&sums[q], 2, operands.d[q], sixteen_rows ? operands.d[2 + q] : unused.data());
}

// ---- f64: fused multiply-adds in ascending k.

/// If several operands are NaN, the result is B's NaN before the sum's, and the sum's before A's.
double fused(double a, double b, double sum) {
  for (const double operand : {b, sum, a})
    if (operand != operand)
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(operand) | std::uint64_t{1} << 51);
  return pinned(std::fma(pinned(a), pinned(b), pinned(sum)));
}

double double_at(const std::uint32_t* row, int lane) {
  return std::bit_cast<double>(std::uint64_t{row[2 * lane + 1]} << 32 | row[2 * lane]);
}

void multiply_double(const MmaForm& form, const MmaOperands& operands) {
  const int pairs = form.m / 8;
  std::array<std::array<double, 8>, 16> sums{};
  const RoundingScope scope(form.rounding);
  for (int row = 0; row < form.m; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = double_at(operands.c[row / 8 * 2 + column % 2], row % 8 * 4 + column / 2);
      for (int k = 0; k < form.k; ++k) {
        const double a = double_at(operands.a[k / 4 * pairs + row / 8], row % 8 * 4 + k % 4);
        sum = fused(a, double_at(operands.b[k / 4], column * 4 + k % 4), sum);
      }
      sums[row][column] = sum;
    }
  for (int row = 0; row < form.m; ++row)
    for (int column = 0; column < 8; ++column) {
      const auto bits = std::bit_cast<std::uint64_t>(sums[row][column]);
      std::uint32_t* d = operands.d[row / 8 * 2 + column % 2] + 2 * (row % 8 * 4 + column / 2);
      d[0] = static_cast<std::uint32_t>(bits);
      d[1] = static_cast<std::uint32_t>(bits >> 32);
    }
}

// ---- Sparse A: one row after another, each with a B of its own.

void add_dense(TileSums& sums, const TileWords& words, const MmaForm& form, const TensorCoreNumerics& numerics,
               const MmaScales* scales) {
  const auto groups = static_cast<std::size_t>(words.groups);
  if (form.accumulator == MmaType::s32) {
    add_integers(sums, std::span(words.a).first(groups), std::span(words.b).first(groups),
                 {width_of(form.a), is_signed(form.a), is_signed(form.b), form.saturate});
  } else {
    add_float(sums, words, form, numerics, scales);
  }
}

void multiply_sparse(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands,
                     const MmaRegisters& registers) {
  const bool halves = form.accumulator == MmaType::f16;
  TileSums sums;
  halves ? load_halves(sums, operands.c.data()) : load_words(sums, operands.c.data());
  std::array<TileWord, 2 * kMaxGroups> b{};
  for (int r = 0; r < registers.b; ++r) to_rows(&b[static_cast<std::size_t>(4 * r)], 1, operands.b[r], operands.b[r]);
  TileWords words(operands.a, operands.a, registers.a / 2);
  const int width = width_of(form.a);
  const bool one_of_two = form.a == MmaType::tf32;
  const SparseSelection selection{is_int4(form.a) ? 8 : width, one_of_two,
                                  form.k / (one_of_two        ? 2
                                            : is_int4(form.a) ? 8
                                                              : 4),
                                  form.selector};
  const TileSums before = sums;
  for (std::size_t row = 0; row < 16; ++row) {
    words.b = {};
    select_elements(selection, operands.metadata, row, b.data(), words.b);
    TileSums all = before;
    add_dense(all, words, form, numerics, operands.scales);
    for (std::size_t column = 0; column < 8; ++column) sums[column].row[row] = all[column].row[row];
  }
  halves ? store_halves(sums, operands.d.data()) : store_words(sums, operands.d.data());
}

}  // namespace

TensorCoreNumerics tensor_core_numerics(int sm) {
  constexpr SumRule kAmpereHalf{8, 24, 23}, kAmpereTf32{4, 24, 23}, kAdaFp8{16, 13, 13}, kHopperFp8{32, 13, 13},
      kHopperHalf{16, 25, 23}, kHopperTf32{8, 25, 23}, kRtxBlackwellFp8{32, 25, 23};
  if (sm >= 120) return {kHopperHalf, kHopperTf32, kRtxBlackwellFp8, false};
  if (sm >= 90) return {kHopperHalf, kHopperTf32, kHopperFp8, true};
  return {kAmpereHalf, kAmpereTf32, kAdaFp8, false};
}

TensorCoreNumerics estimated(TensorCoreNumerics numerics) {
  for (SumRule* rule : {&numerics.half, &numerics.tf32, &numerics.fp8}) rule->estimated = true;
  return numerics;
}

void mma_sync(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands) {
  const MmaRegisters registers = mma_registers(form);
  if (form.sparse) return multiply_sparse(form, numerics, operands, registers);
  if (form.accumulator == MmaType::s32) return multiply_integer(form, operands, registers);
  if (form.accumulator == MmaType::f64) return multiply_double(form, operands);
  if (form.of_quad_pairs()) return multiply_quad_pairs(form, operands);
  multiply_float(form, numerics, operands, registers);
}

}  // namespace evo::vgpu
