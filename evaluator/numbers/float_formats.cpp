#include "evaluator/numbers/float_formats.h"

#include <bit>
#include <cmath>

#include "evaluator/numbers/float_rounding.h"

namespace evo {
namespace {

using namespace float_format;

constexpr std::uint32_t kTf32Nan = 0x7fffe000u;

template <class To>
std::uint32_t narrow_f32(float value, Narrowing how) {
  if (how.rounding == Rounding::rn) return narrow_nearest<To>(std::bit_cast<std::uint32_t>(value), masks_of<To>(how));
  return narrow<To>(value, how);
}

/// A NaN from f64 keeps its sign and the upper bits of its payload, and becomes quiet.
template <class To>
std::uint32_t narrow_f64(double value, Narrowing how) {
  if (!std::isnan(value)) return narrow<To>(value, how);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto payload = static_cast<std::uint32_t>((bits & 0xfffffffffffff) >> (52 - To::kFractionBits));
  return (bits >> 63 ? To::kSign : 0) | To::kTop | 1u << (To::kFractionBits - 1) | payload;
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
  // With .rna the hardware cuts a NaN's bits; .satfinite lowers them by one step.
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & ~0x1fffu;
  return how.saturate_finite ? bits - 0x2000u : bits;
}

std::uint16_t f16_from_f64(double value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f64<F16>(value, how));
}
std::uint16_t bf16_from_f64(double value, Narrowing how) {
  return static_cast<std::uint16_t>(narrow_f64<Bf16>(value, how));
}

}  // namespace evo
