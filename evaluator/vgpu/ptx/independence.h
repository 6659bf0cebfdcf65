#pragma once

#include <set>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

/// Whether blocks of a kernel made of these functions cannot communicate in a program without races. They communicate
/// through atomics outside shared memory, volatile or ordered accesses, fences beyond the block or cluster, the grid
/// barrier and system calls (printf, malloc).
bool blocks_are_independent(const std::set<const ptx::Function*>& functions, const ptx::Module& module);

/// Whether blocks of such a kernel may draw numbers from counters outside shared memory (atom.add of integers): they
/// share out work, or wait for each other.
bool blocks_share_counters(const std::set<const ptx::Function*>& functions);

}  // namespace evo::vgpu
