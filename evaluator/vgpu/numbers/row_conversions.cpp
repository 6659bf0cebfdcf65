#include "evaluator/vgpu/numbers/row_conversions.h"

#include <array>
#include <bit>
#include <cmath>

#include "evaluator/numbers/float_rounding.h"
#include "evaluator/vgpu/numbers/cpu_clones.h"

namespace evo::vgpu::row {
namespace {

using namespace float_format;

inline std::uint32_t relu_f16(std::uint32_t f16, std::uint32_t relu) {
  return f16 & ~(relu & (0u - (f16 >> 15)));  // NaN is positive here.
}

float as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// Rounding modes that kernels hardly use are not vectorised.
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

/// The f16 codes of a small format's magnitudes.
template <class From>
std::array<std::uint32_t, From::kSign> widened() {
  std::array<std::uint32_t, From::kSign> codes{};
  for (std::uint32_t code = 0; code < From::kSign; ++code) {
    const std::uint32_t fraction = code % (1u << From::kFractionBits), field = code >> From::kFractionBits;
    const int significand = static_cast<int>(fraction + (field > 0 ? 1u << From::kFractionBits : 0));
    const int exponent = (field > 0 ? static_cast<int>(field) - From::kBias : From::kLowestNormal);
    codes[code] = narrow<F16>(std::ldexp(significand, exponent - From::kFractionBits), {});
  }
  return codes;
}

template <class From, int Bits>
void unpack_row(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  static const auto kWidened = widened<From>();
  const auto widen = [&](std::uint32_t code) {
    const std::uint32_t sign = (code & From::kSign) != 0 ? 0x8000u : 0;
    return relu && sign != 0 ? 0u : kWidened[code & (From::kSign - 1)] | sign;
  };
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = widen(a[lane] >> Bits) << 16 | widen(a[lane]);
}

constexpr std::uint32_t kScaleNan = 0xff, kLargestScale = 0xfe;

/// The exponent of an f32's magnitude as ue8m0, whose smallest number is 2^-127 (cuda_fp8.hpp, "e8m0").
std::uint32_t scale_of(std::uint32_t f32, const Narrowing& how) {
  const std::uint32_t magnitude = f32 & kF32Magnitude, fraction = magnitude & 0x7fffffu;
  if (magnitude > kF32Infinity) return kScaleNan;
  std::uint32_t scale = magnitude >> 23;
  // 2^-127 is in the middle of the subnormal numbers.
  const bool exact = scale > 0 ? fraction == 0 : magnitude <= 0x400000u;
  if (how.rounding == Rounding::rp && !exact && magnitude < kF32Infinity) ++scale;
  return how.saturate_finite && scale == kScaleNan ? kLargestScale : scale;
}

std::uint32_t bf16_of_scale(std::uint32_t scale) {
  return scale == kScaleNan ? Bf16::kNan : scale == 0 ? 0x40u : scale << 7;
}

}  // namespace

EVO_CPU_CLONES void cvt_f32_f16(std::uint32_t* d, const std::uint32_t* a) {
  EVO_LANE_LOOP
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = widen_f16(a[lane] & 0xffffu);
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

void cvt_e2m1x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  pack_row<E2m1, 4>(d, a, b, masks_of<E2m1>(saturating(how)));
}
void cvt_e2m3x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  pack_row<E2m3, 8>(d, a, b, masks_of<E2m3>(saturating(how)));
}
void cvt_e3m2x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  pack_row<E3m2, 8>(d, a, b, masks_of<E3m2>(saturating(how)));
}
void cvt_ue8m0x2_f32(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b, Narrowing how) {
  for (int lane = 0; lane < kLanes; ++lane) d[lane] = scale_of(a[lane], how) << 8 | scale_of(b[lane], how);
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

void cvt_f16x2_e2m1x2(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  unpack_row<E2m1, 4>(d, a, relu);
}
void cvt_f16x2_e2m3x2(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  unpack_row<E2m3, 8>(d, a, relu);
}
void cvt_f16x2_e3m2x2(std::uint32_t* d, const std::uint32_t* a, bool relu) {
  unpack_row<E3m2, 8>(d, a, relu);
}
void cvt_ue8m0x2_bf16x2(std::uint32_t* d, const std::uint32_t* a, Narrowing how) {
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = scale_of(a[lane] & 0xffff0000u, how) << 8 | scale_of(a[lane] << 16, how);
}
void cvt_bf16x2_ue8m0x2(std::uint32_t* d, const std::uint32_t* a, bool) {
  for (int lane = 0; lane < kLanes; ++lane)
    d[lane] = bf16_of_scale(a[lane] >> 8 & 0xffu) << 16 | bf16_of_scale(a[lane] & 0xffu);
}

}  // namespace evo::vgpu::row
