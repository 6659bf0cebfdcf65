#include "evaluator/vgpu/tensor_core_sum.h"

#include <bit>
#include <cmath>

#include "evaluator/vgpu/cpu_clones.h"

namespace evo::vgpu {
namespace {

using Ints16 = std::int32_t __attribute__((vector_size(64)));
using Doubles16 = double __attribute__((vector_size(128)));
using Longs16 = std::int64_t __attribute__((vector_size(128)));
using Floats16 = float __attribute__((vector_size(64)));

constexpr int kRows = 16;
constexpr int kColumns = 8;
constexpr int kMaxK = 32;
/// All sums are held in units of 2^-25 below the largest exponent; a rule with fewer bits cuts earlier.
constexpr int kSumFractionBits = 25;
/// Exponent of a zero: below that of any product, so that zeros never set the alignment.
constexpr int kZeroExponent = -512;
constexpr int kLowestExponent = -300;

/// What a type's fields look like; `all` selects its bits from a word.
struct Layout {
  int width;
  int fraction_bits;
  int exponent_bits;
  bool infinity;  ///< The top exponent is infinity and NaN; without, only all ones are NaN.
  int skip;       ///< Low bits of the word that are not looked at.
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t magnitude_mask() const { return (1u << (exponent_bits + fraction_bits)) - 1; }
  std::uint32_t infinity_bits() const { return ((1u << exponent_bits) - 1) << fraction_bits; }
  /// Magnitudes from here on are not numbers.
  std::uint32_t first_special() const { return infinity ? infinity_bits() : magnitude_mask(); }
};

constexpr Layout kF16{16, 10, 5, true, 0}, kBf16{16, 7, 8, true, 0}, kTf32{32, 10, 8, true, 13},
    kE4m3{8, 3, 4, false, 0}, kE5m2{8, 2, 5, true, 0}, kF32{32, 23, 8, true, 0};

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
    default:
      return kF16;
  }
}

/// 16 numbers as (-1)^sign * magnitude * 2^(exponent - fraction bits); infinities and NaNs as zeros.
struct Factors {
  Words16 bits;  ///< What they were made from, sign and all.
  Words16 magnitude;
  Ints16 sign;  ///< All ones where negative.
  Ints16 exponent;
};

[[gnu::always_inline]] inline void decode(Factors& to, const Words16& bits, const Layout& layout) {
  const Words16 code = bits & layout.magnitude_mask();
  const Words16 field = code >> layout.fraction_bits;
  const Words16 fraction = code & ((1u << layout.fraction_bits) - 1);
  const Ints16 number = code < layout.first_special();
  const Ints16 subnormal = field == 0;
  to.bits = bits;
  to.magnitude = (fraction | (~(Words16)subnormal & (1u << layout.fraction_bits))) & (Words16)number;
  to.exponent = (Ints16)(subnormal ? field + 1u : field) - layout.bias();
  to.exponent = to.magnitude == 0 ? to.exponent * 0 + kZeroExponent : to.exponent;
  to.sign = -(Ints16)((bits >> (layout.exponent_bits + layout.fraction_bits)) & 1u);
}

/// Both operands of a block, unpacked: factor k of A is a column of 16 rows, of B a row of 8 columns.
struct Operands {
  Factors a[kMaxK];
  Factors b[kMaxK];
  int k = 0;
  bool special = false;  ///< Whether there is an infinity or a NaN among them.
};

[[gnu::always_inline]] inline bool any(const Ints16& mask, int lanes) {
  std::int32_t found = 0;
  for (int i = 0; i < lanes; ++i) found |= mask[i];
  return found != 0;
}

[[gnu::always_inline]] inline void unpack(Factors* to, std::span<const Words16> words, const Layout& layout,
                                          Ints16& special) {
  const int per_word = 32 / layout.width;
  const std::uint32_t mask = layout.width == 32 ? ~0u : (1u << layout.width) - 1;
  for (const Words16& word : words)
    for (int e = 0; e < per_word; ++e, ++to) {
      decode(*to, (word >> (e * layout.width + layout.skip)) & (mask >> layout.skip), layout);
      special |= (to->bits & layout.magnitude_mask()) >= layout.first_special();
    }
}

/// One column of the tile before it is rounded.
struct ColumnSum {
  Doubles16 value;  ///< Exact, in units of 2^(exponent - 25).
  Ints16 exponent;
};

/// Adds the products of a column, cut to the rule's bits, to the cut running sum. Even and odd products are summed
/// apart, so that each sum fits 32 bits with 25 behind the point: at most 16 products of 8-bit factors (below 3.6) or
/// 8 of wider ones (below 4), and the running sum.
[[gnu::always_inline]] inline void sum_column(ColumnSum& result, const Operands& operands, int column,
                                              const Factors& running, int running_fraction_bits, int product_up,
                                              int cut) {
  Ints16 top = running.exponent > kLowestExponent ? running.exponent : running.exponent * 0 + kLowestExponent;
  for (int k = 0; k < operands.k; ++k) {
    const Ints16 exponent = operands.a[k].exponent + operands.b[k].exponent[column];
    top = exponent > top ? exponent : top;
  }
  // Every term is cut towards zero at 2^(top - 25 + cut).
  const Words16 keep = (Words16{} + ~0u) << cut;
  const auto add_aligned = [&](Ints16& total, const Words16& magnitude, const Ints16& exponent, const Ints16& sign) {
    Ints16 shift = top - exponent;
    shift = shift < 31 ? shift : shift * 0 + 31;
    const Ints16 term = (Ints16)((magnitude >> (Words16)shift) & keep);
    total += (term ^ sign) - sign;
  };
  const auto add_product = [&](Ints16& total, const Factors& a, const Factors& b) {
    add_aligned(total, (a.magnitude * b.magnitude[column]) << product_up, a.exponent + b.exponent[column],
                a.sign ^ b.sign[column]);
  };
  Ints16 even{}, odd{};
  for (int k = 0; k < operands.k; k += 2) {
    add_product(even, operands.a[k], operands.b[k]);
    add_product(odd, operands.a[k + 1], operands.b[k + 1]);
  }
  add_aligned(even, running.magnitude << (kSumFractionBits - running_fraction_bits), running.exponent, running.sign);
  result.value = __builtin_convertvector(even, Doubles16) + __builtin_convertvector(odd, Doubles16);
  result.exponent = top;
}

[[gnu::always_inline]] inline Doubles16 power_of_two(const Ints16& exponent) {
  return (Doubles16)((__builtin_convertvector(exponent, Longs16) + 1023) << 52);
}

/// Towards zero; overflow gives infinity, underflow +0.
[[gnu::always_inline]] inline void to_f32(Words16& bits, const ColumnSum& sum, int result_fraction_bits) {
  const Doubles16 value = sum.value * power_of_two(sum.exponent - kSumFractionBits);
  const Doubles16 magnitude = value < 0 ? -value : value;
  const Floats16 nearest = __builtin_convertvector(value, Floats16);
  const Doubles16 back = __builtin_convertvector(nearest, Doubles16);
  const Longs16 too_far = ((back < 0 ? -back : back) > magnitude) & (magnitude < 0x1p128);
  bits = (Words16)nearest + (Words16)__builtin_convertvector(too_far, Ints16);
  bits &= ~((1u << (23 - result_fraction_bits)) - 1);
  bits = (bits & 0x7fffffffu) == 0 ? bits & 0u : bits;
}

/// To nearest, ties to even; overflow gives infinity, underflow +0.
[[gnu::always_inline]] inline void to_f16(Words16& bits, const ColumnSum& sum) {
  const Doubles16 value = sum.value * power_of_two(sum.exponent - kSumFractionBits);
  const Longs16 raw = (Longs16)value;
  const Longs16 magnitude = raw & 0x7fffffffffffffff;
  // Adding a number whose last bit weighs what f16's last bit would rounds there.
  Longs16 exponent = (magnitude >> 52) - 1023;
  exponent = exponent < -14 ? exponent * 0 - 14 : exponent;
  const Doubles16 rounder = (Doubles16)((exponent - 10 + 52 + 1023) << 52);
  const Doubles16 rounded = ((Doubles16)magnitude + rounder) - rounder;
  // Now exact in f32 and, unless too large, in f16.
  const Words16 f32 = (Words16)__builtin_convertvector(rounded, Floats16);
  const Words16 normal = (f32 >> 13) - ((127u - 15u) << 10);
  const Ints16 small = __builtin_convertvector(rounded * 0x1p24, Ints16);
  bits = f32 < (113u << 23) ? (Words16)small : normal;
  bits = f32 >= (143u << 23) ? (bits & 0u) + 0x7c00u : bits;
  const Words16 sign = (Words16)__builtin_convertvector(raw >> 63, Ints16) & 0x8000u;
  bits = bits == 0 ? bits : bits | sign;
}

bool is_nan(std::uint32_t bits, const Layout& layout) {
  const std::uint32_t magnitude = bits & layout.magnitude_mask();
  return layout.infinity ? magnitude > layout.infinity_bits() : magnitude == layout.magnitude_mask();
}
bool is_infinite(std::uint32_t bits, const Layout& layout) {
  return layout.infinity && (bits & layout.magnitude_mask()) == layout.infinity_bits();
}
bool is_negative(std::uint32_t bits, const Layout& layout) {
  return (bits >> (layout.exponent_bits + layout.fraction_bits)) & 1;
}

/// Puts infinities and NaNs where a sum with one belongs; finite sums stay as computed.
void fix_special(TileSums& sums, const TileSums& before, const Operands& operands, const Layout& a, const Layout& b,
                 const Layout& c) {
  for (int column = 0; column < kColumns; ++column)
    for (int row = 0; row < kRows; ++row) {
      const std::uint32_t start = before[column][row];
      bool nan = is_nan(start, c);
      bool infinite[2] = {false, false};  // Of each sign.
      if (is_infinite(start, c)) infinite[is_negative(start, c)] = true;
      for (int k = 0; k < operands.k; ++k) {
        const std::uint32_t x = operands.a[k].bits[row], y = operands.b[k].bits[column];
        if (!is_infinite(x, a) && !is_infinite(y, b)) {
          nan |= is_nan(x, a) || is_nan(y, b);
          continue;
        }
        const bool zero = (x & a.magnitude_mask()) == 0 || (y & b.magnitude_mask()) == 0;
        nan |= zero || is_nan(x, a) || is_nan(y, b);
        infinite[is_negative(x, a) != is_negative(y, b)] = true;
      }
      const std::uint32_t sign = 1u << (c.exponent_bits + c.fraction_bits);
      if (nan || (infinite[0] && infinite[1]))
        sums[column][row] = sign - 1;  // The canonical NaN: all ones but the sign.
      else if (infinite[0] || infinite[1])
        sums[column][row] = c.infinity_bits() | (infinite[1] ? sign : 0);
    }
}

}  // namespace

EVO_CPU_CLONES void add_block(TileSums& sums, std::span<const Words16> a, std::span<const Words16> b, MmaType type_a,
                              MmaType type_b, MmaType accumulator, const SumRule& rule) {
  const Layout &layout_a = layout_of(type_a), &layout_b = layout_of(type_b), &layout_c = layout_of(accumulator);
  Operands operands;
  Ints16 special_a{}, special_b{};
  unpack(operands.a, a, layout_a, special_a);
  unpack(operands.b, b, layout_b, special_b);
  operands.k = static_cast<int>(a.size()) * (32 / layout_a.width);

  const int product_up = kSumFractionBits - layout_a.fraction_bits - layout_b.fraction_bits;
  const int cut = kSumFractionBits - rule.fraction_bits;
  const TileSums before = sums;
  Ints16 special_c{};
  for (int column = 0; column < kColumns; ++column) {
    Factors running;
    decode(running, sums[column], layout_c);
    special_c |= (sums[column] & layout_c.magnitude_mask()) >= layout_c.first_special();
    ColumnSum sum;
    sum_column(sum, operands, column, running, layout_c.fraction_bits, product_up, cut);
    if (accumulator == MmaType::f16)
      to_f16(sums[column], sum);
    else
      to_f32(sums[column], sum, rule.result_fraction_bits);
  }
  if (any(special_a, kRows) || any(special_b, kColumns) || any(special_c, kRows))
    fix_special(sums, before, operands, layout_a, layout_b, layout_c);
}

}  // namespace evo::vgpu
