#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "evaluator/numbers/narrowing.h"

/// Rounding and widening of the formats of float_formats.h, as inline functions on bit patterns. The scalar conversions
/// and the virtual GPU's conversions of whole warps are made of them.
namespace evo::float_format {

inline constexpr std::uint32_t kF32Magnitude = 0x7fffffffu;
inline constexpr std::uint32_t kF32Infinity = 0x7f800000u;
inline constexpr std::uint32_t kF32Nan = 0x7fffffffu;

/// A binary format: a sign bit, ExponentBits, FractionBits. Without NaN, one becomes the largest number, as PTX has it.
template <int ExponentBits, int FractionBits, bool HasInfinity, bool HasNan = true>
struct Format {
  static constexpr int kExponentBits = ExponentBits;
  static constexpr int kFractionBits = FractionBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kLowestNormal = 1 - kBias;  ///< Exponent of the smallest normal number.
  static constexpr std::uint32_t kSign = 1u << (ExponentBits + FractionBits);
  static constexpr std::uint32_t kNan = kSign - 1;
  static constexpr std::uint32_t kTop = ((1u << ExponentBits) - 1) << FractionBits;
  static constexpr std::uint32_t kLargest = HasInfinity ? kTop - 1 : HasNan ? kNan - 1 : kNan;
  /// The code of an overflow without .satfinite: infinity, or the largest number where the format has no infinity.
  static constexpr std::uint32_t kOverflow = HasInfinity ? kTop : kLargest;
};

using F16 = Format<5, 10, true>;
using Bf16 = Format<8, 7, true>;
using Tf32 = Format<8, 10, true>;
using E4m3 = Format<4, 3, false>;
using E5m2 = Format<5, 2, true>;
using E2m1 = Format<2, 1, false, false>;
using E2m3 = Format<2, 3, false, false>;
using E3m2 = Format<3, 2, false, false>;

/// Whether the magnitude is rounded up. `rest` is what lies below the last kept bit and `half` is half of that bit.
inline bool rounds_up(Rounding rounding, bool negative, bool odd, std::uint64_t rest, std::uint64_t half) {
  switch (rounding) {
    case Rounding::rn:
      return rest > half || (rest == half && odd);
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return negative && rest != 0;
    case Rounding::rp:
      return !negative && rest != 0;
    case Rounding::rna:
      return rest >= half;
  }
  return false;
}

/// The code of a magnitude beyond the largest number.
template <class To>
std::uint32_t overflowed(bool negative, bool infinite, Narrowing how) {
  if (how.saturate_finite) return To::kLargest;
  const bool towards_zero = how.rounding == Rounding::rz || (how.rounding == Rounding::rm && !negative) ||
                            (how.rounding == Rounding::rp && negative);
  return towards_zero && !infinite ? To::kLargest : To::kOverflow;
}

/// Rounds a double to any format in any rounding mode. A double holds every source format exactly.
template <class To>
std::uint32_t narrow(double value, Narrowing how) {
  if (std::isnan(value)) return To::kNan;
  const bool negative = std::signbit(value);
  if (how.relu && negative) return 0;
  const std::uint32_t sign = negative ? To::kSign : 0;
  if (std::isinf(value)) return sign | overflowed<To>(negative, true, how);
  if (value == 0) return sign;

  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // In [0.5, 1).
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  exponent -= 1;  // Of the leading bit, which is bit 52 of the significand.
  const int subnormal = exponent < To::kLowestNormal ? To::kLowestNormal - exponent : 0;
  const int cut = 52 - To::kFractionBits + subnormal;
  std::uint64_t kept = cut > 53 ? 0 : significand >> cut;
  if (cut > 53) {  // Below half of the smallest subnormal.
    kept += rounds_up(how.rounding, negative, false, 1, 2) ? 1 : 0;
  } else {
    const std::uint64_t rest = significand & ((std::uint64_t{1} << cut) - 1);
    kept += rounds_up(how.rounding, negative, kept & 1, rest, std::uint64_t{1} << (cut - 1)) ? 1 : 0;
  }
  // The leading one of a normal number carries into the exponent field.
  std::uint64_t bits = kept;
  if (subnormal == 0) bits += static_cast<std::uint64_t>(exponent + To::kBias - 1) << To::kFractionBits;
  if (bits > To::kLargest) return sign | overflowed<To>(negative, false, how);
  return sign | static_cast<std::uint32_t>(bits);
}

/// What .satfinite and .relu do, as masks that need no branch.
struct Masks {
  std::uint32_t overflow;  ///< The code of a magnitude beyond the largest number.
  std::uint32_t relu;      ///< All ones: negative results become zero.
};

template <class To>
Masks masks_of(Narrowing how) {
  return {how.saturate_finite ? To::kLargest : To::kOverflow, how.relu ? ~0u : 0u};
}

/// Rounds an f32 to nearest even without a branch. A float addition rounds subnormal results: the number added has a
/// last bit that weighs as much as To's smallest subnormal, so the sum's low bits hold the rounded multiple of it.
template <class To>
[[gnu::always_inline]] inline std::uint32_t narrow_nearest(std::uint32_t f32, Masks masks) {
  constexpr int kCut = 23 - To::kFractionBits;
  const std::uint32_t magnitude = f32 & kF32Magnitude;
  const std::uint32_t negative = f32 >> 31;
  std::uint32_t bits =
      (magnitude + ((1u << (kCut - 1)) - 1) + ((magnitude >> kCut) & 1) - ((127u - To::kBias) << 23)) >> kCut;
  if constexpr (To::kExponentBits < 8) {
    constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(127 + To::kLowestNormal) << 23;
    constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(127 + To::kLowestNormal - To::kFractionBits + 23) << 23;
    const float sum = std::bit_cast<float>(magnitude < kSmallestNormal ? magnitude : 0u) + std::bit_cast<float>(kMagic);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(sum) - kMagic;
    bits = magnitude < kSmallestNormal ? subnormal : bits;
  }
  bits = bits > To::kLargest ? masks.overflow : bits;
  bits |= negative * To::kSign;
  bits &= ~(masks.relu & (0u - negative));
  return magnitude > kF32Infinity ? To::kNan : bits;
}

/// f16 to f32.
[[gnu::always_inline]] inline std::uint32_t widen_f16(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + ((127u - 15u) << 23);
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  std::uint32_t widened = magnitude < 0x400u ? std::bit_cast<std::uint32_t>(small) : normal;
  widened = magnitude >= 0x7c00u ? kF32Infinity : widened;
  widened |= (bits & 0x8000u) << 16;
  return magnitude > 0x7c00u ? kF32Nan : widened;
}

/// e4m3 to f16, where its subnormals are normal numbers.
[[gnu::always_inline]] inline std::uint32_t widen_e4m3(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fu;
  // With the lowest normal exponent in front, a subnormal's value is what exceeds 2^-6.
  const float small = std::bit_cast<float>((magnitude << 20) | (121u << 23)) - 0x1p-6f;
  const std::uint32_t subnormal = (std::bit_cast<std::uint32_t>(small) >> 13) - ((127u - 15u) << 10);
  std::uint32_t widened = magnitude < 8u ? subnormal : (magnitude << 7) + (8u << 10);
  widened = magnitude == 0 ? 0 : widened;
  widened |= (bits & 0x80u) << 8;
  return magnitude == 0x7fu ? 0x7fffu : widened;
}

/// e5m2 to f16: e5m2 is f16's upper byte.
[[gnu::always_inline]] inline std::uint32_t widen_e5m2(std::uint32_t bits) {
  return (bits & 0x7fu) > 0x7cu ? 0x7fffu : (bits & 0xffu) << 8;
}

inline Narrowing saturating(Narrowing how) {
  how.saturate_finite = true;
  return how;
}

}  // namespace evo::float_format
