#pragma once

#include <set>
#include <vector>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

/// Defined functions whose address a variable or a register of the module holds, in the module's order.
std::vector<const ptx::Function*> address_taken(const ptx::Module& module);
/// The functions that can run when the entry does: itself and its callees. A call through a pointer may reach every
/// function of address_taken().
std::set<const ptx::Function*> reachable_functions(const ptx::Module& module, const ptx::Function& entry);
/// The operand of a call that names the function or holds its address; null when there is none.
const ptx::Operand* callee_of(const ptx::Statement& call);

}  // namespace evo::vgpu
