#pragma once

#include <set>
#include <vector>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

/// Functions with a body whose address is in a variable or a register somewhere in the module, in its order.
std::vector<const ptx::Function*> address_taken(const ptx::Module& module);
/// What can run when the entry does: itself, what is called, and behind a call through a pointer all of the
/// above.
std::set<const ptx::Function*> reachable_functions(const ptx::Module& module, const ptx::Function& entry);
/// The operand of a call that names the function, or holds its address; null when there is none.
const ptx::Operand* callee_of(const ptx::Statement& call);

}  // namespace evo::vgpu
