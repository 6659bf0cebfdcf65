#pragma once

#include <cstdint>

#include "evaluator/vgpu/numbers/float_bits.h"

/// f16 and bf16 inside loops over lanes: conversions that the compiler can vectorise, and arithmetic that rounds once.
/// float_formats.h has the complete set of conversions; numbers convert to the same bits.
namespace evo::vgpu {

/// value + error is the sum, exactly, and value its nearest T (Knuth's two-sum).
template <class T>
struct ExactSum {
  T value;
  T error;
};
template <class T>
EVO_INLINE ExactSum<T> exact_sum(T a, T b) {
  const T sum = a + b;
  const T a_part = sum - b;
  const T b_part = sum - a_part;
  return {sum, (a - a_part) + (b - b_part)};
}

/// Rounds a sum to odd instead of to nearest. A second rounding, to a format at least two bits narrower, then gives the
/// result of a single rounding (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
template <class T>
EVO_INLINE T to_odd(ExactSum<T> sum) {
  const BitsOf<T> bits = bits_in(sum.value);
  const bool inexact = sum.error != 0 && sum.error - sum.error == 0;
  const bool away = (sum.error > 0) == ((bits & kSignBit<T>) == 0);  // From zero.
  const BitsOf<T> neighbour = away ? bits + 1 : bits - 1;
  return with_bits<T>(inexact && (bits & 1u) == 0 ? neighbour : bits);
}

struct F16 {
  static constexpr std::uint32_t kNan = 0x7fffu;
  static constexpr std::uint32_t kInfinity = 0x7c00u;
  static constexpr std::uint32_t kLeastNormal = 0x0400u;
  static constexpr std::uint32_t kOne = 0x3c00u;

  static EVO_INLINE float widen(std::uint32_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t size = bits & 0x7fffu;
    const std::uint32_t normal = (size << 13) + (112u << 23);
    const auto subnormal = bits_in(static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24f);
    const std::uint32_t special = (size << 13) | 0x7f80'0000u;
    const std::uint32_t finite = size < kLeastNormal ? subnormal : normal;
    return with_bits<float>(sign | (size >= kInfinity ? special : finite));
  }
  static EVO_INLINE std::uint32_t narrow(float x) {
    const std::uint32_t bits = bits_in(x);
    const std::uint32_t sign = bits >> 16 & 0x8000u;
    const std::uint32_t size = bits & 0x7fff'ffffu;
    const std::uint32_t normal = (size + 0xfffu + (size >> 13 & 1u) - (112u << 23)) >> 13;
    // Adding 0.5, whose last place is f16's least subnormal, rounds there.
    const std::uint32_t subnormal = bits_in(with_bits<float>(size) + 0.5f) - bits_in(0.5f);
    std::uint32_t result = size < 0x3880'0000u ? subnormal : normal;
    result = size >= 0x477f'f000u ? kInfinity : result;
    return size > 0x7f80'0000u ? kNan : sign | result;
  }
  // A product of two is exact in f32. A sum may be rounded twice because f32 has 2 * 11 + 2 bits.
  static EVO_INLINE std::uint32_t add(std::uint32_t a, std::uint32_t b) { return narrow(widen(a) + widen(b)); }
  static EVO_INLINE std::uint32_t mul(std::uint32_t a, std::uint32_t b) { return narrow(widen(a) * widen(b)); }
  static EVO_INLINE std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return narrow(to_odd(exact_sum(widen(a) * widen(b), widen(c))));
  }
};

struct BF16 {
  static constexpr std::uint32_t kNan = 0x7fffu;
  static constexpr std::uint32_t kInfinity = 0x7f80u;
  static constexpr std::uint32_t kLeastNormal = 0x0080u;
  static constexpr std::uint32_t kOne = 0x3f80u;

  static EVO_INLINE float widen(std::uint32_t bits) { return with_bits<float>(bits << 16); }
  static EVO_INLINE std::uint32_t narrow(float x) {
    const std::uint32_t bits = bits_in(x);
    const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (bits & 0x7fff'ffffu) > 0x7f80'0000u ? kNan : rounded;
  }
  /// Narrows a double that was rounded to odd.
  static EVO_INLINE std::uint32_t narrow_odd(double x) {
    const auto single = static_cast<float>(x);
    const double error = x - static_cast<double>(single);
    return narrow(to_odd(ExactSum<float>{single, error > 0 ? 1.0f : (error < 0 ? -1.0f : static_cast<float>(error))}));
  }
  // bf16 has f32's exponents. Products and sums use double because f32 would round them.
  static EVO_INLINE double wide(std::uint32_t bits) { return static_cast<double>(widen(bits)); }
  static EVO_INLINE std::uint32_t add(std::uint32_t a, std::uint32_t b) {
    return narrow_odd(to_odd(exact_sum(wide(a), wide(b))));
  }
  static EVO_INLINE std::uint32_t mul(std::uint32_t a, std::uint32_t b) { return narrow_odd(wide(a) * wide(b)); }
  static EVO_INLINE std::uint32_t fma(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return narrow_odd(to_odd(exact_sum(wide(a) * wide(b), wide(c))));
  }
};

template <class Format>
EVO_INLINE bool is_nan(std::uint32_t bits) {
  return (bits & 0x7fffu) > Format::kInfinity;
}

template <class Format, bool kFlush>
EVO_INLINE std::uint32_t flushed_half(std::uint32_t bits) {
  if constexpr (kFlush) return (bits & 0x7fffu) < Format::kLeastNormal ? bits & 0x8000u : bits;
  return bits;
}

/// An integer that orders halves; not for NaNs.
EVO_INLINE std::int32_t ordered_half(std::uint32_t bits) {
  const auto size = static_cast<std::int32_t>(bits & 0x7fffu);
  return (bits & 0x8000u) != 0 ? -size - 1 : size;
}

}  // namespace evo::vgpu
