#pragma once

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/numbers/rounding.h"

/// Element-wise instructions in a directed rounding mode. Kernels hardly use them, so they run one lane at a time.
namespace evo::vgpu {

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

/// The function for a rounding mode. Only to-nearest is vectorised.
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
