#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "evaluator/vgpu/ptx/ptx.h"

/// What each architecture assembles: PTX ISA 9.0, "Target ISA Notes" of each instruction.
namespace evo::vgpu {

/// Why a statement is not for a target such as sm_80 or sm_90a ("redux.sync.add.s32 needs sm_80"); nothing: it is.
/// `target` empty or malformed: the module does not say, and everything is.
std::optional<std::string> refused_by_target(const ptx::Statement& statement, std::string_view target);

/// Throws LoadError that names the first statement that the module's own target does not have, as ptxas does.
void require_target(const ptx::Module& module);

}  // namespace evo::vgpu
