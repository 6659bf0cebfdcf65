#include "evaluator/vgpu/numbers/tensor_core_sum.h"

#include <algorithm>

#include "evaluator/vgpu/numbers/cpu_clones.h"
#include "evaluator/vgpu/numbers/row_conversions.h"
#include "evaluator/vgpu/numbers/tensor_core_estimate.h"

// GCC warns of wide vectors as parameters. These functions are all inlined.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace evo::vgpu {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kMaxK = 32;
/// Exponent of a zero. It is below that of any product, so zeros never set the alignment.
constexpr int kZeroExponent = -512;
constexpr int kLowestExponent = -300;
/// Fraction bits of a product before it is cut.
constexpr int kProductFractionBits = 25;

/// The fields of a type within a word.
struct Layout {
  int width;
  int fraction_bits;
  int exponent_bits;
  bool infinity;            ///< The top exponent is infinity and NaN; otherwise only all ones are NaN.
  int skip;                 ///< Low bits that are ignored.
  bool normalised = false;  ///< Subnormals (of three fraction bits) get exponents of their own.
  bool finite = false;      ///< There is neither infinity nor NaN.

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint32_t sign() const { return 1u << (exponent_bits + fraction_bits); }
  constexpr std::uint32_t infinity_bits() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
  /// Magnitudes from here on are infinity or NaN.
  constexpr std::uint32_t first_special() const { return infinity ? infinity_bits() : sign() - (finite ? 0 : 1); }
};

constexpr Layout kF16{16, 10, 5, true, 0}, kBf16{16, 7, 8, true, 0}, kTf32{32, 10, 8, true, 13},
    kE4m3{8, 3, 4, false, 0}, kE5m2{8, 2, 5, true, 0}, kF32{32, 23, 8, true, 0}, kE3m2{8, 2, 3, false, 0, false, true},
    kE2m3{8, 3, 2, false, 0, false, true}, kE2m1{8, 1, 2, false, 2, false, true};

const Layout& layout_of(MmaType type) {
  switch (type) {
    case MmaType::bf16:
      return kBf16;
    case MmaType::tf32:
      return kTf32;
    case MmaType::e4m3:
      return kE4m3;
    case MmaType::e5m2:
      return kE5m2;
    case MmaType::f32:
      return kF32;
    case MmaType::e3m2:
      return kE3m2;
    case MmaType::e2m3:
      return kE2m3;
    case MmaType::e2m1:
      return kE2m1;
    default:
      return kF16;
  }
}

std::uint32_t element(std::uint32_t word, int index, const Layout& layout) {
  return (word >> (index * layout.width + layout.skip)) & (2 * layout.sign() - 1);
}

/// One block of k, unpacked.
struct Block {
  BlockOperands operands;
  Layout a, b, c;
  int k = 0;
  int fraction_bits = 0;
  int result_fraction_bits = 0;
  bool round_to_odd = false;                 ///< The last bit records inexactness, for a later rounding to f16.
  alignas(64) std::uint32_t numbers[kRows];  ///< Output: a lane is zero if an infinity or a NaN takes part.
};

/// (-1)^sign * magnitude * 2^exponent, up to a common scale. Infinities and NaNs count as zeros.
struct alignas(64) Factors {
  std::uint32_t magnitude[kRows];
  std::int32_t sign[kRows];  ///< All ones where negative.
  std::int32_t exponent[kRows];
};

template <int Lanes>
struct Vectors {
  typedef std::uint32_t U __attribute__((vector_size(4 * Lanes)));
  typedef std::int32_t I __attribute__((vector_size(4 * Lanes)));
  typedef float F __attribute__((vector_size(4 * Lanes)));
};

/// Decodes a vector of numbers. Lanes of `numbers` become zero where a number is infinite or NaN.
template <int Lanes>
[[gnu::always_inline]] inline void decode(Factors& to, int at, const typename Vectors<Lanes>::U& bits,
                                          const Layout& layout, int scale, typename Vectors<Lanes>::U& numbers) {
  using U = typename Vectors<Lanes>::U;
  using I = typename Vectors<Lanes>::I;
  const U code = bits & (layout.sign() - 1);
  const U field = code >> layout.fraction_bits;
  const U number = (U)(code < layout.first_special());
  const U normal = (U)(field != 0);
  const U fraction = code & ((1u << layout.fraction_bits) - 1);
  U magnitude = (fraction | (normal & (1u << layout.fraction_bits))) & number;
  I exponent = (I)(field + (~normal & 1u)) - layout.bias();
  if (layout.normalised) {
    const I up = (I)~normal & (1 - (I)(fraction < 4) - (I)(fraction < 2));
    magnitude <<= (U)up;
    exponent -= up;
  }
  *(U*)(to.magnitude + at) = magnitude << scale;
  *(I*)(to.exponent + at) = magnitude == 0 ? I{} + kZeroExponent : exponent;
  *(I*)(to.sign + at) = -(I)((bits >> (layout.exponent_bits + layout.fraction_bits)) & 1u);
  numbers &= number;
}

template <int Lanes>
[[gnu::always_inline]] inline void unpack(Factors* to, std::span<const TileWord> words, const Layout& layout,
                                          const Block& block, int rows, int scale, std::uint32_t* numbers) {
  using U = typename Vectors<Lanes>::U;
  U all = *(U*)numbers;
  for (const TileWord& word : words)
    for (int e = 0; e < block.operands.elements; ++e, ++to)
      for (int at = 0; at < rows; at += Lanes) {
        const int skip = (block.operands.first_element + e) * layout.width + layout.skip;
        const U bits = (*(const U*)(word.row.data() + at) >> skip) & (2 * layout.sign() - 1);
        decode<Lanes>(*to, at, bits, layout, scale, all);
      }
  *(U*)numbers = all;
}

/// Multiplies numbers by powers of two. Zeros keep their exponent, below that of any product.
inline void scale(Factors* factors, const Block& block, const std::int32_t* exponents, int rows) {
  if (exponents == nullptr) return;
  for (int k = 0; k < block.k; ++k)
    for (int row = 0; row < rows; ++row)
      if (factors[k].magnitude[row] != 0) factors[k].exponent[row] += exponents[row];
}

/// magnitude * 2^(exponent) as f32, cut towards zero (or rounded to odd); overflow gives infinity, underflow +0.
template <int Lanes>
[[gnu::always_inline]] inline void to_f32(typename Vectors<Lanes>::U& bits, const typename Vectors<Lanes>::U& magnitude,
                                          const typename Vectors<Lanes>::I& exponent,
                                          const typename Vectors<Lanes>::I& sign, const Block& block) {
  using U = typename Vectors<Lanes>::U;
  using I = typename Vectors<Lanes>::I;
  using F = typename Vectors<Lanes>::F;
  // All ones below the 24 bits that f32 keeps.
  U rest = magnitude >> 24;
  rest |= rest >> 1;
  rest |= rest >> 2;
  rest |= rest >> 4;
  U kept = magnitude & ~rest;
  if (block.round_to_odd) kept |= (U)((magnitude & rest) != 0) & (rest + 1u);
  // Both halves and their sum are exact in f32.
  const F value =
      __builtin_convertvector((I)(kept >> 16), F) * 65536.f + __builtin_convertvector((I)(kept & 0xffffu), F);
  const I field = (I)((U)value >> 23) + exponent;
  const U normal = ((U)value & 0x7fffffu) | ((U)field << 23);
  I shift = 1 - field;
  shift = shift < 0 ? I{} : shift;
  shift = shift > 31 ? I{} + 31 : shift;
  const U subnormal = (((U)value & 0x7fffffu) | 0x800000u) >> (U)shift;
  bits = field > 0 ? normal : subnormal;
  bits = field > 254 ? U{} + 0x7f800000u : bits;
  bits &= ~((1u << (23 - block.result_fraction_bits)) - 1);
  bits = magnitude == 0 ? U{} : bits;
  bits |= (U)(bits != 0) & (U)sign & 0x80000000u;
}

/// Sums one column of the tile for Lanes rows from `at`. Even and odd products are summed separately, so that each sum
/// fits 32 signed bits: at most 16 products of 8-bit factors (below 3.6) or 8 of wider ones (below 4) with 25 fraction
/// bits, and the running sum (below 2). The total fits 32 bits and a sign.
template <int Lanes>
[[gnu::always_inline]] inline void sum_column(std::uint32_t* column, const Factors* a, const Factors* b, int at, int j,
                                              Block& block) {
  using U = typename Vectors<Lanes>::U;
  using I = typename Vectors<Lanes>::I;
  Factors running;
  decode<Lanes>(running, at, *(const U*)(column + at), block.c, kProductFractionBits - block.c.fraction_bits,
                *(U*)block.numbers);
  const I running_exponent = *(const I*)(running.exponent + at);

  I exponents[kMaxK];
  I top = running_exponent < kLowestExponent ? I{} + kLowestExponent : running_exponent;
  for (int k = 0; k < block.k; ++k) {
    exponents[k] = *(const I*)(a[k].exponent + at) + b[k].exponent[j];
    top = exponents[k] > top ? exponents[k] : top;
  }

  // Of every term only the bits above 2^(top - fraction_bits) are kept.
  const I base = top + (kProductFractionBits - block.fraction_bits);
  const auto add = [&](I & total, const U& magnitude, const I& exponent, const I& sign) __attribute__((always_inline)) {
    I shift = base - exponent;
    shift = shift > 31 ? I{} + 31 : shift;
    total += ((I)(magnitude >> (U)shift) ^ sign) - sign;
  };
  const auto add_product = [&](I & total, int k) __attribute__((always_inline)) {
    add(total, *(const U*)(a[k].magnitude + at) * b[k].magnitude[j], exponents[k],
        *(const I*)(a[k].sign + at) ^ b[k].sign[j]);
  };
  I even{}, odd{};
  for (int k = 0; k < block.k; k += 2) {
    add_product(even, k);
    add_product(odd, k + 1);
  }
  add(even, *(const U*)(running.magnitude + at), running_exponent, *(const I*)(running.sign + at));

  const I negative = ((even & odd) + ((even ^ odd) >> 1)) >> 31;  // Sign of the sum, which may have 33 bits.
  const U magnitude = (((U)even + (U)odd) ^ (U)negative) - (U)negative;
  U bits;
  to_f32<Lanes>(bits, magnitude, top - block.fraction_bits, negative, block);
  *(U*)(column + at) = bits;
}

template <int Lanes>
[[gnu::always_inline]] inline void unpack_rows(Factors* a, Block& block) {
  std::fill_n(block.numbers, kRows, ~0u);
  unpack<Lanes>(a, block.operands.a, block.a, block, kRows,
                kProductFractionBits - block.a.fraction_bits - block.b.fraction_bits, block.numbers);
  scale(a, block, block.operands.scale_a, kRows);
}

template <int Lanes>
[[gnu::always_inline]] inline void add_tile(TileSums& sums, const Factors* a, Block& block) {
  Factors b[kMaxK];
  constexpr int kColumnLanes = Lanes < kColumns ? Lanes : kColumns;
  unpack<kColumnLanes>(b, block.operands.b, block.b, block, kColumns, 0, block.numbers);
  scale(b, block, block.operands.scale_b, kColumns);
  for (int j = 0; j < kColumns; ++j)
    for (int at = 0; at < kRows; at += Lanes) sum_column<Lanes>(sums[j].row.data(), a, b, at, j, block);
}

void unpack_rows_plain(Factors* a, Block& block) {
  unpack_rows<4>(a, block);
}
void add_tile_plain(TileSums& sums, const Factors* a, Block& block) {
  add_tile<4>(sums, a, block);
}

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3")]] void unpack_rows_avx2(Factors* a, Block& block) {
  unpack_rows<8>(a, block);
}
[[gnu::target("arch=x86-64-v4")]] void unpack_rows_avx512(Factors* a, Block& block) {
  unpack_rows<16>(a, block);
}
[[gnu::target("arch=x86-64-v3")]] void add_tile_avx2(TileSums& sums, const Factors* a, Block& block) {
  add_tile<8>(sums, a, block);
}
[[gnu::target("arch=x86-64-v4")]] void add_tile_avx512(TileSums& sums, const Factors* a, Block& block) {
  add_tile<16>(sums, a, block);
}
#endif

struct Functions {
  void (*unpack_rows)(Factors*, Block&) = unpack_rows_plain;
  void (*add_tile)(TileSums&, const Factors*, Block&) = add_tile_plain;
};

Functions best_functions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return {unpack_rows_avx512, add_tile_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return {unpack_rows_avx2, add_tile_avx2};
#endif
  return {};
}

bool is_nan(std::uint32_t bits, const Layout& layout) {
  const std::uint32_t magnitude = bits & (layout.sign() - 1);
  return !layout.finite && (layout.infinity ? magnitude > layout.infinity_bits() : magnitude == layout.sign() - 1);
}
bool is_infinite(std::uint32_t bits, const Layout& layout) {
  return layout.infinity && (bits & (layout.sign() - 1)) == layout.infinity_bits();
}
bool is_negative(std::uint32_t bits, const Layout& layout) {
  return (bits & layout.sign()) != 0;
}

/// Replaces sums that are infinite or NaN; finite sums stay as computed.
void fix_special(TileSums& sums, const TileSums& before, const Block& block) {
  const int first = block.operands.first_element, per_word = block.operands.elements;
  for (int column = 0; column < kColumns; ++column)
    for (int row = 0; row < kRows; ++row) {
      const std::uint32_t start = before[column].row[row];
      bool nan = is_nan(start, block.c);
      bool infinite[2] = {false, false};  // By sign.
      if (is_infinite(start, block.c)) infinite[is_negative(start, block.c)] = true;
      for (int k = 0; k < block.k; ++k) {
        const std::uint32_t x = element(block.operands.a[k / per_word].row[row], first + k % per_word, block.a);
        const std::uint32_t y = element(block.operands.b[k / per_word].row[column], first + k % per_word, block.b);
        nan |= is_nan(x, block.a) || is_nan(y, block.b);
        if (!is_infinite(x, block.a) && !is_infinite(y, block.b)) continue;
        nan |= (x & (block.a.sign() - 1)) == 0 || (y & (block.b.sign() - 1)) == 0;
        infinite[is_negative(x, block.a) != is_negative(y, block.b)] = true;
      }
      if (nan || (infinite[0] && infinite[1]))
        sums[column].row[row] = kF32.sign() - 1;  // The canonical NaN: all ones but the sign.
      else if (infinite[0] || infinite[1])
        sums[column].row[row] = kF32.infinity_bits() | (infinite[1] ? kF32.sign() : 0);
    }
}

/// Rounds sums from f32, rounded to odd, to f16. Underflow gives +0.
void round_to_f16(TileSums& sums) {
  for (int column = 0; column < kColumns; column += 2) {
    std::uint32_t* words = sums[column].row.data();  // Two columns are one row of 32 lanes.
    row::cvt_f16_f32(words, words);
    for (int lane = 0; lane < kLanes; ++lane) words[lane] = words[lane] == 0x8000u ? 0 : words[lane];
  }
}

}  // namespace

void add_block(std::span<TileSums> sums, const BlockOperands& operands, MmaType accumulator, const SumRule& rule,
               std::size_t b_step) {
  if (rule.estimated) return estimate_block(sums, operands, accumulator, b_step);
  static const Functions kFunctions = best_functions();
  Block block;
  block.operands = operands;
  block.a = layout_of(operands.type_a);
  block.b = layout_of(operands.type_b);
  block.c = layout_of(accumulator);
  block.a.normalised = operands.widened && operands.type_a == MmaType::e4m3;
  block.b.normalised = operands.widened && operands.type_b == MmaType::e4m3;
  block.k = static_cast<int>(operands.a.size()) * operands.elements;
  block.fraction_bits = rule.fraction_bits;
  block.round_to_odd = accumulator == MmaType::f16;
  block.result_fraction_bits = block.round_to_odd ? 23 : rule.result_fraction_bits;
  Factors a[kMaxK];
  kFunctions.unpack_rows(a, block);
  std::uint32_t numbers_in_a[kRows];
  std::copy_n(block.numbers, kRows, numbers_in_a);
  for (std::size_t tile = 0; tile < sums.size(); ++tile) {
    const TileSums before = sums[tile];
    block.operands.b = operands.b.subspan(tile * b_step, operands.a.size());
    std::copy_n(numbers_in_a, kRows, block.numbers);
    kFunctions.add_tile(sums[tile], a, block);
    if (std::ranges::count(block.numbers, 0u) > 0) fix_special(sums[tile], before, block);
    if (block.round_to_odd) round_to_f16(sums[tile]);
  }
}

}  // namespace evo::vgpu
