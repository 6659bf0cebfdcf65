#include "evaluator/numbers/float_formats.h"

#include <bit>
#include <cmath>

#include "evaluator/numbers/cpu_clones.h"

namespace evo::vgpu {
namespace {

constexpr std::uint32_t kF32Magnitude = 0x7fffffffu;
constexpr std::uint32_t kF32Infinity = 0x7f800000u;
constexpr std::uint32_t kF32Nan = 0x7fffffffu;
constexpr std::uint32_t kTf32Nan = 0x7fffe000u;

/// A binary format: sign, ExponentBits, FractionBits.
template <int ExponentBits, int FractionBits, bool HasInfinity>
struct Format {
  static constexpr int kExponentBits = ExponentBits;
  static constexpr int kFractionBits = FractionBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kLowestNormal = 1 - kBias;  ///< Exponent.
  static constexpr std::uint32_t kSign = 1u << (ExponentBits + FractionBits);
  static constexpr std::uint32_t kNan = kSign - 1;
  static constexpr std::uint32_t kTop = ((1u << ExponentBits) - 1) << FractionBits;
  static constexpr std::uint32_t kLargest = HasInfinity ? kTop - 1 : kNan - 1;
  /// Where an overflow goes without .satfinite. e4m3 has nothing beyond its largest number.
  static constexpr std::uint32_t kOverflow = HasInfinity ? kTop : kLargest;
};

using F16 = Format<5, 10, true>;
using Bf16 = Format<8, 7, true>;
using Tf32 = Format<8, 10, true>;
using F32 = Format<8, 23, true>;
using E4m3 = Format<4, 3, false>;
using E5m2 = Format<5, 2, true>;

/// Whether `rest` (the bits below the last kept one, `half` being their middle) rounds the magnitude up.
bool rounds_up(Rounding rounding, bool negative, bool odd, std::uint64_t rest, std::uint64_t half) {
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

/// Where a magnitude beyond the largest number goes.
template <class To>
std::uint32_t overflowed(bool negative, bool infinite, Narrowing how) {
  if (how.saturate_finite) return To::kLargest;
  const bool towards_zero = how.rounding == Rounding::rz || (how.rounding == Rounding::rm && !negative) ||
                            (how.rounding == Rounding::rp && negative);
  return towards_zero && !infinite ? To::kLargest : To::kOverflow;
}

/// Any format, any rounding, from a double, which holds every source format exactly.
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

/// What .satfinite and .relu do in the vectorised form.
struct Masks {
  std::uint32_t overflow;  ///< Code of a magnitude beyond the largest number.
  std::uint32_t relu;      ///< All ones: negative results become zero.
};

template <class To>
Masks masks_of(Narrowing how) {
  return {how.saturate_finite ? To::kLargest : To::kOverflow, how.relu ? ~0u : 0u};
}

/// Rounds an f32 to nearest even without a branch. A subnormal result falls out of a float addition: adding the number
/// whose last bit weighs as much as To's smallest subnormal leaves the rounded multiple in the low bits.
template <class To>
inline std::uint32_t narrow_nearest(std::uint32_t f32, Masks masks) {
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

inline std::uint32_t widen_f16(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fffu;
  const std::uint32_t normal = (magnitude << 13) + ((127u - 15u) << 23);
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
  std::uint32_t widened = magnitude < 0x400u ? std::bit_cast<std::uint32_t>(small) : normal;
  widened = magnitude >= 0x7c00u ? kF32Infinity : widened;
  widened |= (bits & 0x8000u) << 16;
  return magnitude > 0x7c00u ? kF32Nan : widened;
}

/// The 8-bit formats to f16: their subnormals are f16's normal numbers (e4m3) or the same bits (e5m2).
inline std::uint32_t widen_e4m3(std::uint32_t bits) {
  const std::uint32_t magnitude = bits & 0x7fu;
  // With the lowest normal exponent in front, a subnormal's value is what exceeds 2^-6.
  const float small = std::bit_cast<float>((magnitude << 20) | (121u << 23)) - 0x1p-6f;
  const std::uint32_t subnormal = (std::bit_cast<std::uint32_t>(small) >> 13) - ((127u - 15u) << 10);
  std::uint32_t widened = magnitude < 8u ? subnormal : (magnitude << 7) + (8u << 10);
  widened = magnitude == 0 ? 0 : widened;
  widened |= (bits & 0x80u) << 8;
  return magnitude == 0x7fu ? 0x7fffu : widened;
}

inline std::uint32_t widen_e5m2(std::uint32_t bits) {
  return (bits & 0x7fu) > 0x7cu ? 0x7fffu : (bits & 0xffu) << 8;
}

inline std::uint32_t relu_f16(std::uint32_t f16, std::uint32_t relu) {
  return f16 & ~(relu & (0u - (f16 >> 15)));  // NaN is positive here.
}

template <class To>
std::uint32_t narrow_f32(float value, Narrowing how) {
  if (how.rounding == Rounding::rn) return narrow_nearest<To>(std::bit_cast<std::uint32_t>(value), masks_of<To>(how));
  return narrow<To>(value, how);
}

/// From f64 alone a NaN keeps its sign and the upper bits of its payload, and becomes quiet.
template <class To>
std::uint32_t narrow_f64(double value, Narrowing how) {
  if (!std::isnan(value)) return narrow<To>(value, how);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto payload = static_cast<std::uint32_t>((bits & 0xfffffffffffff) >> (52 - To::kFractionBits));
  return (bits >> 63 ? To::kSign : 0) | To::kTop | 1u << (To::kFractionBits - 1) | payload;
}

Narrowing saturating(Narrowing how) {
  how.saturate_finite = true;
  return how;
}

}  // namespace

float f32_from_f16(std::uint16_t bits) {
  return std::bit_cast<float>(widen_f16(bits));
}
float f32_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}
std::uint16_t f16_from_e4m3(std::uint8_t bits) {
  return static_cast<std::uint16_t>(widen_e4m3(bits));
}
std::uint16_t f16_from_e5m2(std::uint8_t bits) {
  return static_cast<std::uint16_t>(widen_e5m2(bits));
}
float f32_from_e4m3(std::uint8_t bits) {
  return f32_from_f16(f16_from_e4m3(bits));
}
float f32_from_e5m2(std::uint8_t bits) {
  return f32_from_f16(f16_from_e5m2(bits));
}

std::uint16_t f16_from_f32(float value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f32<F16>(value, how));
}
std::uint16_t bf16_from_f32(float value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f32<Bf16>(value, how));
}
std::uint8_t e4m3_from_f32(float value, Narrowing how) {
  return static_cast<std::uint8_t>(narrow_f32<E4m3>(value, saturating(how)));
}
std::uint8_t e5m2_from_f32(float value, Narrowing how) {
  return static_cast<std::uint8_t>(narrow_f32<E5m2>(value, saturating(how)));
}
std::uint32_t tf32_from_f32(float value, Narrowing how) {
  if (!std::isnan(value)) return narrow_f32<Tf32>(value, how) << 13;
  if (how.rounding != Rounding::rna) return kTf32Nan;
  // The hardware cuts a NaN's bits; saturation takes one step off.
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & ~0x1fffu;
  return how.saturate_finite ? bits - 0x2000u : bits;
}

std::uint16_t f16_from_f64(double value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f64<F16>(value, how));
}
std::uint16_t bf16_from_f64(double value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f64<Bf16>(value, how));
}
float f32_from_f64(double value, Rounding rounding) {
  return std::bit_cast<float>(narrow_f64<F32>(value, {.rounding = rounding}));
}

std::uint8_t e4m3_from_f16(std::uint16_t bits, Narrowing how) {
  return e4m3_from_f32(f32_from_f16(bits), how);
}
std::uint8_t e5m2_from_f16(std::uint16_t bits, Narrowing how) {
  return e5m2_from_f32(f32_from_f16(bits), how);
}

float flush_subnormal(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return (bits & kF32Infinity) == 0 ? std::bit_cast<float>(bits & ~kF32Magnitude) : value;
}

namespace row {
namespace {

float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// The roundings that kernels hardly use, lane by lane.
template <class To>
void narrow_slowly(std::uint32_t* d, const std::uint32_t* a, Narrowing how, int shift) {
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = narrow<To>(as_float(a[lane]), how) << shift;
}

template <class To>
void pack_slowly(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how, int bits) {
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = narrow<To>(as_float(a[lane]), how) << bits | narrow<To>(as_float(b[lane]), how);
}

template <class To>
inline void narrow_row(std::uint32_t* d, const std::uint32_t* a, Masks masks) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = narrow_nearest<To>(a[lane], masks);
}

template <class To, int Bits>
inline void pack_row(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Masks masks) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = narrow_nearest<To>(a[lane], masks) << Bits | narrow_nearest<To>(b[lane], masks);
}

template <class To>
inline void repack_row(std::uint32_t* d, const std::uint32_t* a, Masks masks) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = narrow_nearest<To>(widen_f16(a[lane] >> 16), masks) << 8 |
              narrow_nearest<To>(widen_f16(a[lane] & 0xffffu), masks);
}

EVO_CPU_CLONES void f16_row(std::uint32_t* d, const std::uint32_t* a, Masks m) {
  narrow_row<F16>(d, a, m);
}
EVO_CPU_CLONES void bf16_row(std::uint32_t* d, const std::uint32_t* a, Masks m) {
  narrow_row<Bf16>(d, a, m);
}
EVO_CPU_CLONES void f16x2_row(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Masks m) {
  pack_row<F16, 16>(d, a, b, m);
}
EVO_CPU_CLONES void bf16x2_row(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Masks m) {
  pack_row<Bf16, 16>(d, a, b, m);
}
EVO_CPU_CLONES void e4m3x2_row(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Masks m) {
  pack_row<E4m3, 8>(d, a, b, m);
}
EVO_CPU_CLONES void e5m2x2_row(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Masks m) {
  pack_row<E5m2, 8>(d, a, b, m);
}
EVO_CPU_CLONES void e4m3x2_from_f16x2_row(std::uint32_t* d, const std::uint32_t* a, Masks m) {
  repack_row<E4m3>(d, a, m);
}
EVO_CPU_CLONES void e5m2x2_from_f16x2_row(std::uint32_t* d, const std::uint32_t* a, Masks m) {
  repack_row<E5m2>(d, a, m);
}
EVO_CPU_CLONES void f16x2_from_e4m3x2_row(std::uint32_t* d, const std::uint32_t* a, std::uint32_t relu) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = relu_f16(widen_e4m3(a[lane] >> 8), relu) << 16 | relu_f16(widen_e4m3(a[lane]), relu);
}
EVO_CPU_CLONES void f16x2_from_e5m2x2_row(std::uint32_t* d, const std::uint32_t* a, std::uint32_t relu) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = relu_f16(widen_e5m2(a[lane] >> 8), relu) << 16 | relu_f16(widen_e5m2(a[lane]), relu);
}
EVO_CPU_CLONES void f32_from_f16_row(std::uint32_t* d, const std::uint32_t* a) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = widen_f16(a[lane] & 0xffffu);
}

}  // namespace

void cvt_f32_f16(std::uint32_t* d, const std::uint32_t* a) {
  f32_from_f16_row(d, a);
}

void cvt_f32_bf16(std::uint32_t* d, const std::uint32_t* a) {
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = a[lane] << 16;
}

void cvt_f16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  if (how.rounding == Rounding::rn) return f16_row(d, a, masks_of<F16>(how));
  narrow_slowly<F16>(d, a, how, 0);
}

void cvt_bf16_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  if (how.rounding == Rounding::rn) return bf16_row(d, a, masks_of<Bf16>(how));
  narrow_slowly<Bf16>(d, a, how, 0);
}

void cvt_tf32_f32(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = tf32_from_f32(as_float(a[lane]), how);
}

void cvt_f16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  if (how.rounding == Rounding::rn) return f16x2_row(d, a, b, masks_of<F16>(how));
  pack_slowly<F16>(d, a, b, how, 16);
}

void cvt_bf16x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  if (how.rounding == Rounding::rn) return bf16x2_row(d, a, b, masks_of<Bf16>(how));
  pack_slowly<Bf16>(d, a, b, how, 16);
}

void cvt_e4m3x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  if (how.rounding == Rounding::rn) return e4m3x2_row(d, a, b, masks_of<E4m3>(saturating(how)));
  pack_slowly<E4m3>(d, a, b, saturating(how), 8);
}

void cvt_e5m2x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  if (how.rounding == Rounding::rn) return e5m2x2_row(d, a, b, masks_of<E5m2>(saturating(how)));
  pack_slowly<E5m2>(d, a, b, saturating(how), 8);
}

void cvt_e4m3x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  e4m3x2_from_f16x2_row(d, a, masks_of<E4m3>(saturating(how)));
}

void cvt_e5m2x2_f16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  e5m2x2_from_f16x2_row(d, a, masks_of<E5m2>(saturating(how)));
}

void cvt_f16x2_e4m3x2(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  f16x2_from_e4m3x2_row(d, a, relu ? ~0u : 0u);
}

void cvt_f16x2_e5m2x2(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  f16x2_from_e5m2x2_row(d, a, relu ? ~0u : 0u);
}

}  // namespace row

}  // namespace evo::vgpu
