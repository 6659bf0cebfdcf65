#pragma once

#include "evaluator/vgpu/ptx/ptx.h"

/// What each architecture assembles: PTX ISA 9.0, "Target ISA Notes" of each instruction.
namespace evo::vgpu {

/// Throws LoadError that names the first statement that the module's own target, such as sm_80 or sm_90a, does not
/// have, as ptxas does ("redux.sync.add.s32 needs sm_80, ..."). A module without a target, or with a malformed one, has
/// all.
void require_target(const ptx::Module& module);

}  // namespace evo::vgpu
