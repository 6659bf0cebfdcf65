#pragma once

#include <cstdint>

#include "evaluator/vgpu/machine/lanes.h"

namespace evo::vgpu {

/// The lanes of a .sync instruction, sorted by the member masks that they name: groups of one warp may execute the same
/// instruction together, each with a mask of its own (tiled_partition of cooperative groups).
///
///     MemberGroups groups(warp, in, mask, members_at);
///     while (groups.next(mask)) ... the lanes of `mask` are one complete group ...
class MemberGroups {
 public:
  MemberGroups(Warp& warp, const Instruction& in, std::uint32_t mask, Place members_at, Meet meet = Meet::here)
      : warp_(warp), in_(in), members_(warp.row(members_at)), meet_(meet), first_(mask), left_(mask) {}
  /// False when no group is left, those that miss lanes wait, or the warp has failed.
  bool next(std::uint32_t& mask);

 private:
  bool postpone_incomplete();

  Warp& warp_;
  const Instruction& in_;
  const Word* members_;
  Meet meet_;
  std::uint32_t first_;           ///< All that execute the instruction.
  std::uint32_t left_;            ///< Of them, those not yet looked at.
  std::uint32_t incomplete_ = 0;  ///< Their group lacks lanes.
};

}  // namespace evo::vgpu
