#pragma once

#include <cstdint>
#include <vector>

namespace evo::vgpu {

/// Where control goes after an instruction.
struct Flow {
  enum class Kind : std::uint8_t {
    next,    ///< To the following instruction.
    branch,  ///< To `targets` or, for some lanes, to the following instruction.
    jump,    ///< To one of `targets`, for all lanes.
    leave,   ///< Nowhere: the thread ends.
    trap,    ///< Nowhere: the launch fails, or lanes exit in the middle of a kernel.
  };
  Kind kind = Kind::next;
  std::vector<std::uint32_t> targets;
};

/// A stretch of instructions entered only at its start and left only at its end.
struct BasicBlock {
  std::uint32_t first = 0;
  std::uint32_t last = 0;                 ///< Inclusive.
  std::vector<std::uint32_t> successors;  ///< Blocks.
};

/// `flows` has one entry for each instruction. The last one must not be `next` or `branch`.
std::vector<BasicBlock> basic_blocks(const std::vector<Flow>& flows);

/// For each block, the block where all paths from it that end in `leave` meet first; -1 where they meet only at the end
/// of the kernel. Paths that trap do not count because their lanes never arrive. The algorithm is that of Cooper,
/// Harvey and Kennedy, "A simple, fast dominance algorithm", on the reversed graph.
std::vector<std::int32_t> immediate_post_dominators(const std::vector<BasicBlock>& blocks,
                                                    const std::vector<Flow>& flows);

}  // namespace evo::vgpu
