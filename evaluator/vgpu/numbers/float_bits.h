#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "evaluator/vgpu/numbers/cpu_clones.h"

/// The parts of PTX arithmetic that IEEE does not have: flushing, saturation, canonical NaNs. All functions are inline
/// and free of branches, for loops over lanes.
namespace evo::vgpu {

constexpr std::uint32_t kNanF32 = 0x7fff'ffffu;  ///< The NaN that f32 arithmetic returns.

template <bool kFlush>
EVO_INLINE float flushed(float x) {
  if constexpr (kFlush) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits & 0x7f80'0000u) == 0 ? bits & 0x8000'0000u : bits);
  }
  return x;
}

template <bool kSaturate, class T>
EVO_INLINE T saturated(T x) {
  if constexpr (kSaturate) {
    const T low = x > 0 ? x : 0;  // NaN and -0 give +0.
    return low < 1 ? low : 1;
  }
  return x;
}

EVO_INLINE float canonical(float x) {
  return x == x ? x : std::bit_cast<float>(kNanF32);
}
/// f64 units keep a NaN's payload, as CPUs do.
EVO_INLINE double canonical(double x) {
  return x;
}

template <bool kFlush, bool kSaturate>
EVO_INLINE float finished(float x) {
  return saturated<kSaturate>(flushed<kFlush>(canonical(x)));
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (8 * sizeof(T) - 1);

template <class T>
EVO_INLINE T with_bits(BitsOf<T> bits) {
  return std::bit_cast<T>(bits);
}
template <class T>
EVO_INLINE BitsOf<T> bits_in(T x) {
  return std::bit_cast<BitsOf<T>>(x);
}

/// min or max. The other operand wins over a NaN, and -0 < +0.
template <class T, bool kMax>
EVO_INLINE T smaller_or_larger(T a, T b) {
  const bool a_first = kMax ? a > b : a < b;
  const T equal = with_bits<T>(kMax ? bits_in(a) & bits_in(b) : bits_in(a) | bits_in(b));
  const T ordered = a == b ? equal : (a_first ? a : b);
  const T a_or_b = a == a ? ordered : b;
  return b == b ? a_or_b : canonical(a);
}

}  // namespace evo::vgpu
