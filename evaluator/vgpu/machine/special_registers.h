#pragma once

#include <optional>
#include <string_view>

#include "evaluator/vgpu/machine/kernel.h"

namespace evo::vgpu {

/// "%tid.x" and its like; nothing for a name that is no such register, or whose value changes while a block
/// runs.
std::optional<Special> parse_special(std::string_view name);

}  // namespace evo::vgpu
