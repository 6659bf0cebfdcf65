#include "evaluator/vgpu/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "evaluator/vgpu/cpu_clones.h"
#include "evaluator/vgpu/tensor_core_sum.h"

namespace evo::vgpu {
namespace {

using Row = std::array<std::uint32_t, kLanes>;

constexpr int kMaxGroups = 8;  ///< Words along k of one row of A: 8 registers hold two rows of four words each.

bool is_fp8(MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; }
bool is_int8(MmaType type) { return type == MmaType::s8 || type == MmaType::u8; }
bool is_int4(MmaType type) { return type == MmaType::s4 || type == MmaType::u4; }
bool is_signed(MmaType type) { return type == MmaType::s8 || type == MmaType::s4; }

int width_of(MmaType type) {
  switch (type) {
    case MmaType::s4:
    case MmaType::u4:
      return 4;
    case MmaType::e4m3:
    case MmaType::e5m2:
    case MmaType::s8:
    case MmaType::u8:
      return 8;
    case MmaType::f16:
    case MmaType::bf16:
      return 16;
    case MmaType::f64:
      return 64;
    default:
      return 32;
  }
}

std::string_view name_of(MmaType type) {
  constexpr std::string_view kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "f64",
                                         "s8",  "u8",   "s4",   "u4",   "f32",  "s32"};
  return kNames[static_cast<int>(type)];
}

std::string text_of(const MmaForm& form) {
  std::string text = "mma.sync.m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k);
  for (MmaType type : {form.accumulator, form.a, form.b}) text.append(".").append(name_of(type));
  return text;
}

/// The lanes' words as the tile's rows: lane 4 i + t holds row i and the t-th word along k, or (accumulators) the t-th
/// pair of columns. Register pairs hold rows 0-7 and 8-15.
void to_rows(Words16& words, const std::uint32_t* low, const std::uint32_t* high, int t) {
  for (int i = 0; i < 8; ++i) {
    words[i] = low[4 * i + t];
    words[i + 8] = high ? high[4 * i + t] : 0;
  }
}

/// Fragments as words along k (PTX ISA 9.7.14.5): A's registers come in pairs of rows 0-7 and 8-15, each next pair four
/// words further along k; B's registers follow each other along k.
struct TileWords {
  std::array<Words16, kMaxGroups> a;
  std::array<Words16, kMaxGroups> b;
  int groups = 0;

  template <class Rows>
  TileWords(const Rows& rows_a, const Rows& rows_b, int registers_b, bool sixteen_rows = true) {
    groups = 4 * registers_b;
    for (int r = 0; r < registers_b; ++r)
      for (int t = 0; t < 4; ++t) {
        const std::uint32_t* low = sixteen_rows ? &rows_a[2 * r][0] : &rows_a[r][0];
        to_rows(a[4 * r + t], low, sixteen_rows ? &rows_a[2 * r + 1][0] : nullptr, t);
        to_rows(b[4 * r + t], &rows_b[r][0], nullptr, t);
      }
  }
};

/// Chains the rule's blocks over all of k.
void add_blocks(TileSums& sums, const TileWords& words, MmaType a, MmaType b, MmaType accumulator, const SumRule& rule) {
  const int per_word = 32 / width_of(a);
  const int step = std::min(rule.block_k / per_word, words.groups);
  for (int at = 0; at < words.groups; at += step)
    add_block(sums, std::span(words.a).subspan(at, step), std::span(words.b).subspan(at, step), a, b, accumulator, rule);
}

// ---- Accumulators. f32: four registers, 2 p + q holds rows 8 p + i and columns 2 t + q. f16: two, each a column pair.

void load_f32(TileSums& sums, const MmaOperands& operands) {
  for (int column = 0; column < 8; ++column)
    to_rows(sums[column], operands.c[column % 2], operands.c[2 + column % 2], column / 2);
}

void store_f32(const TileSums& sums, const MmaOperands& operands) {
  for (int column = 0; column < 8; ++column)
    for (int row = 0; row < 16; ++row)
      operands.d[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2] = sums[column][row];
}

void load_f16(TileSums& sums, const MmaOperands& operands) {
  for (int column = 0; column < 8; ++column) {
    to_rows(sums[column], operands.c[0], operands.c[1], column / 2);
    sums[column] = sums[column] >> (16 * (column % 2)) & 0xffffu;
  }
}

void store_f16(const TileSums& sums, const MmaOperands& operands) {
  for (int row = 0; row < 16; ++row)
    for (int t = 0; t < 4; ++t)
      operands.d[row / 8][row % 8 * 4 + t] = sums[2 * t][row] | sums[2 * t + 1][row] << 16;
}

// ---- 8-bit floats on Hopper: two products of f16 operands, then an addition.

/// Which two of each word's four elements to widen.
enum class Pair { lower, upper };

using RowPointers = std::array<const std::uint32_t*, 8>;

void widen(std::array<Row, 8>& wide, const RowPointers& rows, int count, MmaType type, Pair pair) {
  for (int r = 0; r < count; ++r) {
    for (int lane = 0; lane < kLanes; ++lane) wide[r][lane] = rows[r][lane] >> (pair == Pair::upper ? 16 : 0);
    if (type == MmaType::e4m3)
      row::cvt_f16x2_e4m3x2(wide[r].data(), wide[r].data());
    else
      row::cvt_f16x2_e5m2x2(wide[r].data(), wide[r].data());
  }
}

/// C + sum with one rounding to nearest; NaN comes out canonical.
void add_c(TileSums& sums, const TileSums& c, MmaType accumulator) {
  for (int column = 0; column < 8; ++column)
    for (int row = 0; row < 16; ++row) {
      const std::uint32_t x = sums[column][row], y = c[column][row];
      if (accumulator == MmaType::f16) {
        sums[column][row] =
            f16_from_f32(f32_from_f16(static_cast<std::uint16_t>(x)) + f32_from_f16(static_cast<std::uint16_t>(y)));
      } else {
        const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
        sums[column][row] = std::isnan(sum) ? 0x7fffffffu : std::bit_cast<std::uint32_t>(sum);
      }
    }
}

void multiply_fp8_through_f16(TileSums& sums, const MmaForm& form, const TensorCoreNumerics& numerics,
                              const MmaOperands& operands, const MmaRegisters& registers) {
  TileSums products{};
  for (Pair pair : {Pair::lower, Pair::upper}) {
    std::array<Row, 8> a, b;
    widen(a, operands.a, registers.a, form.a, pair);
    widen(b, operands.b, registers.b, form.b, pair);
    add_blocks(products, TileWords(a, b, registers.b), MmaType::f16, MmaType::f16, form.accumulator, numerics.half);
  }
  const TileSums c = sums;
  sums = products;
  add_c(sums, c, form.accumulator);
}

void multiply_float(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands,
                    const MmaRegisters& registers) {
  TileSums sums;
  form.accumulator == MmaType::f16 ? load_f16(sums, operands) : load_f32(sums, operands);
  if (is_fp8(form.a) && numerics.fp8_through_f16) {
    multiply_fp8_through_f16(sums, form, numerics, operands, registers);
  } else {
    const SumRule& rule =
        is_fp8(form.a) ? numerics.fp8 : form.a == MmaType::tf32 ? numerics.tf32 : numerics.half;
    add_blocks(sums, TileWords(operands.a, operands.b, registers.b), form.a, form.b, form.accumulator, rule);
  }
  form.accumulator == MmaType::f16 ? store_f16(sums, operands) : store_f32(sums, operands);
}

// ---- Integers: exact, then wrapped or saturated.

using Ints16 = std::int32_t __attribute__((vector_size(64)));

/// Element e of 16 words, as integers.
[[gnu::always_inline]] inline void unpack_integers(Ints16& to, const Words16& words, int element, int width,
                                                   bool is_signed) {
  const Words16 top = words << (32 - width - element * width);
  to = is_signed ? (Ints16)top >> (32 - width) : (Ints16)(top >> (32 - width));
}

/// products[column] = A . B; at most 64 products of 16 bits fit easily.
EVO_CPU_CLONES void multiply_tile(std::array<Ints16, 8>& products, const TileWords& words, int width, bool signed_a,
                                  bool signed_b) {
  for (Ints16& column : products) column = Ints16{};
  for (int group = 0; group < words.groups; ++group)
    for (int e = 0; e < 32 / width; ++e) {
      Ints16 a, b;
      unpack_integers(a, words.a[group], e, width, signed_a);
      unpack_integers(b, words.b[group], e, width, signed_b);
      for (int column = 0; column < 8; ++column) products[column] += a * b[column];
    }
}

void multiply_integer(const MmaForm& form, const MmaOperands& operands, const MmaRegisters& registers) {
  std::array<Ints16, 8> products;
  multiply_tile(products, TileWords(operands.a, operands.b, registers.b, form.m == 16), width_of(form.a),
                is_signed(form.a), is_signed(form.b));
  for (int column = 0; column < 8; ++column)
    for (int row = 0; row < form.m; ++row) {
      const int r = row / 8 * 2 + column % 2, lane = row % 8 * 4 + column / 2;
      std::int64_t sum = std::int64_t{static_cast<std::int32_t>(operands.c[r][lane])} + products[column][row];
      if (form.saturate)
        sum = std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max());
      operands.d[r][lane] = static_cast<std::uint32_t>(sum);
    }
}

// ---- f64: fused multiply-adds in ascending k.

double double_at(const std::uint32_t* row, int lane) {
  return std::bit_cast<double>(std::uint64_t{row[2 * lane + 1]} << 32 | row[2 * lane]);
}

void multiply_double(const MmaForm& form, const MmaOperands& operands) {
  const int pairs = form.m / 8;
  std::array<std::array<double, 8>, 16> sums{};
  for (int row = 0; row < form.m; ++row)
    for (int column = 0; column < 8; ++column) {
      double sum = double_at(operands.c[row / 8 * 2 + column % 2], row % 8 * 4 + column / 2);
      for (int k = 0; k < form.k; ++k) {
        const double a = double_at(operands.a[k / 4 * pairs + row / 8], row % 8 * 4 + k % 4);
        sum = std::fma(a, double_at(operands.b[k / 4], column * 4 + k % 4), sum);
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

/// The values of k that a form with these operand types has; empty when the types do not go together.
struct Shapes {
  std::array<int, 4> m16{};  ///< With m = 16.
  int m8 = 0;                ///< With m = 8; 0: none.
};

Shapes shapes_of(const MmaForm& form) {
  const bool to_float = form.accumulator == MmaType::f32 || form.accumulator == MmaType::f16;
  if (is_fp8(form.a) && is_fp8(form.b) && to_float) return {{16, 32}};
  if (is_int8(form.a) && is_int8(form.b) && form.accumulator == MmaType::s32) return {{16, 32}, 16};
  if (is_int4(form.a) && is_int4(form.b) && form.accumulator == MmaType::s32) return {{32, 64}, 32};
  if (form.a != form.b) return {};
  if (form.a == MmaType::f16 && to_float) return {{8, 16}};
  if (form.a == MmaType::bf16 && form.accumulator == MmaType::f32) return {{8, 16}};
  if (form.a == MmaType::tf32 && form.accumulator == MmaType::f32) return {{4, 8}};
  if (form.a == MmaType::f64 && form.accumulator == MmaType::f64) return {{4, 8, 16}, 4};
  return {};
}

}  // namespace

bool mma_supported(const MmaForm& form, std::string* why) {
  const Shapes shapes = shapes_of(form);
  const bool has_shape =
      form.n == 8 && ((form.m == 16 && form.k != 0 && std::ranges::count(shapes.m16, form.k) > 0) ||
                      (form.m == 8 && form.k != 0 && form.k == shapes.m8));
  if (!has_shape && why) *why = text_of(form) + " is not modelled";
  return has_shape;
}

MmaRegisters mma_registers(const MmaForm& form) {
  const int register_bits = form.a == MmaType::f64 ? 64 : 32;
  const int accumulator_bits = form.accumulator == MmaType::f16 ? 16 : register_bits;
  const auto count = [&](int elements, int width) { return elements * width / (kLanes * register_bits); };
  return {count(form.m * form.k, width_of(form.a)), count(form.k * form.n, width_of(form.b)),
          count(form.m * form.n, accumulator_bits)};
}

TensorCoreNumerics tensor_core_numerics(int sm) {
  constexpr SumRule kAmpereHalf{8, 24, 23}, kAmpereTf32{4, 24, 23}, kAdaFp8{16, 13, 13}, kHopperFp8{32, 13, 13};
  if (sm >= 90) return {{16, 25, 23}, {8, 25, 23}, kHopperFp8, true};
  return {kAmpereHalf, kAmpereTf32, kAdaFp8, false};
}

void mma_sync(const MmaForm& form, const TensorCoreNumerics& numerics, const MmaOperands& operands) {
  const MmaRegisters registers = mma_registers(form);
  if (form.accumulator == MmaType::s32) return multiply_integer(form, operands, registers);
  if (form.accumulator == MmaType::f64) return multiply_double(form, operands);
  multiply_float(form, numerics, operands, registers);
}

}  // namespace evo::vgpu
