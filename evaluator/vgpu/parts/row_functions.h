#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/lanes.h"

namespace evo::vgpu {

/// An instruction made of a function over whole rows, `Function(d, a, ...)`: op[0] is d, the sources begin at op[1].
template <auto Function, std::size_t kSources>
struct RowFunction {
  static void execute(Warp& warp, const Instruction& in, std::uint32_t mask) {
    alignas(64) Word partial[32];
    Word* d = mask == kAllLanes ? warp.own(in.op[0]) : partial;
    if constexpr (kSources == 1) {
      Function(d, warp.row(in.op[1]));
    } else {
      Function(d, warp.row(in.op[1]), warp.row(in.op[2]));
    }
    if (mask != kAllLanes) blend(warp.own(in.op[0]), partial, mask);
  }
};

}  // namespace evo::vgpu
