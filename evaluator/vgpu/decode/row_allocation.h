#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluator/vgpu/ptx/control_flow.h"

namespace evo::vgpu {

/// An instruction's reading or writing of a register.
struct RegisterUse {
  std::uint32_t reg = 0;
  bool write = false;
  bool partial = false;  ///< A write under a guard: the old value may survive.
};

struct RowAllocation {
  std::vector<std::uint32_t> first_row;  ///< Of each register; kNowhere for one that is never used.
  std::uint32_t rows = 0;
};

/// Gives every register rows of a warp's register file, shared by registers that are never live together: PTX
/// names a new register for every value, and a small file stays in the CPU's caches. The method is a linear scan over
/// live ranges. `uses[i]` are those of instruction i, `rows_of[r]` how many rows register r takes (1, 2 or 4), and
/// `pinned` registers keep their rows for the whole kernel.
RowAllocation allocate_rows(const std::vector<BasicBlock>& blocks,
                            const std::vector<std::span<const RegisterUse>>& uses,
                            const std::vector<std::uint8_t>& rows_of, std::span<const std::uint32_t> pinned);

}  // namespace evo::vgpu
