#pragma once

#include <set>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

/// Whether blocks of a kernel made of these functions cannot notice each other in a right program: there are no atomics
/// outside of shared memory, no volatile or ordered accesses and no fences beyond the block or cluster, no grid barrier
/// and no calls of the system (printf, malloc). What plain loads and stores of one block could see of another's is a
/// race.
bool blocks_are_independent(const std::set<const ptx::Function*>& functions, const ptx::Module& module);

}  // namespace evo::vgpu
