#pragma once

#include <algorithm>
#include <cstdint>

#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/numbers/half_lanes.h"

/// What makes one value of two in memory or among lanes, beside std::plus<>, std::bit_and<> and their like.
namespace evo::vgpu {

struct Min {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
/// Counts up to a limit, then from 0 again; and down.
struct Increment {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const { return old >= limit ? 0 : old + 1; }
};
struct Decrement {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const {
    return old == 0 || old > limit ? limit : old - 1;
  }
};
/// How memory adds f32.
template <bool kFlush>
struct AddSingleInMemory {
  float operator()(float old, float b) const {
    return finished<kFlush, false>(flushed<kFlush>(old) + flushed<kFlush>(b));
  }
};
/// How global memory adds doubles. A NaN keeps its bits, even a signalling one, and the NaN in `b` wins.
struct AddDoubleInMemory {
  double operator()(double old, double b) const {
    if (b != b) return b;
    return old != old ? old : old + b;
  }
};
template <class Format>
struct AddHalf {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t b) const { return Format::add(old, b); }
};
template <class Format, bool kMax>
struct HalfExtreme {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    if (is_nan<Format>(a)) return is_nan<Format>(b) ? Format::kNan : b;
    if (is_nan<Format>(b)) return a;
    return (kMax ? ordered_half(a) > ordered_half(b) : ordered_half(a) < ordered_half(b)) ? a : b;
  }
};

}  // namespace evo::vgpu
