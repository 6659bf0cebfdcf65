#pragma once

#include <cfenv>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/numbers/lanes.h"

/// Arithmetic in a rounding mode other than to-nearest: rare in kernels, so one lane at a time in the CPU's
/// own modes.
namespace evo::vgpu {

class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) { std::fesetround(mode_of(rounding)); }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int mode_of(Rounding rounding) {
    switch (rounding) {
      case Rounding::rz:
        return FE_TOWARDZERO;
      case Rounding::rm:
        return FE_DOWNWARD;
      case Rounding::rp:
        return FE_UPWARD;
      default:
        return FE_TONEAREST;
    }
  }
  int before_;
};

/// Keeps the compiler from moving or folding a computation across a change of mode.
template <class T>
EVO_INLINE T pinned(T value) {
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

namespace detail {

template <class Op, class D, class... A, std::size_t... I>
void map_lanes_rounded(Warp& warp, const Instruction& in, std::uint32_t mask, Rounding rounding, D (*)(A...),
                       std::index_sequence<I...>) {
  const RoundingScope scope(rounding);
  const void* rows[] = {warp.row(in.op[1 + I])...};
  alignas(64) Slot<D> result[32];
  for (int lane = 0; lane < 32; ++lane) {
    put<D>(result, lane, pinned(Op::apply(pinned(get<A>(static_cast<const Slot<A>*>(rows[I]), lane))...)));
  }
  blend(own_row<D>(warp, in.op[0]), result, mask);
}

}  // namespace detail

/// Like elementwise<Op>, in a directed rounding mode.
template <class Op, Rounding kRounding>
void elementwise_rounded(Warp& warp, const Instruction& in, std::uint32_t mask) {
  detail::map_lanes_rounded<Op>(warp, in, mask, kRounding, &Op::apply, detail::sources_of(&Op::apply));
}

/// The instance for a rounding mode; to nearest is the fast one.
template <class Op>
Execute rounded(Simd simd, Rounding rounding) {
  switch (rounding) {
    case Rounding::rz:
      return elementwise_rounded<Op, Rounding::rz>;
    case Rounding::rm:
      return elementwise_rounded<Op, Rounding::rm>;
    case Rounding::rp:
      return elementwise_rounded<Op, Rounding::rp>;
    default:
      return elementwise<Op>(simd);
  }
}

}  // namespace evo::vgpu
