#include "evaluator/vgpu/cost/pipes.h"

namespace evo::vgpu {

std::string_view name_of(Pipe pipe) {
  constexpr std::string_view kNames[kPipes] = {"issue",       "FMA",           "ALU",           "MUFU", "conversion",
                                               "tensor core", "shared memory", "global memory", "f64"};
  return kNames[static_cast<int>(pipe)];
}

std::string_view name_of(Stall stall) {
  constexpr std::string_view kNames[kStalls] = {"issuing",       "dependence",  "shared memory",
                                                "global memory", "tensor core", "MUFU",
                                                "barrier",       "busy pipe",   "async copy"};
  return kNames[static_cast<int>(stall)];
}

}  // namespace evo::vgpu
