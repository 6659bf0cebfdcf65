#pragma once

#include "cli/commands.h"

namespace evo::cli {

/// `evo vgpu FILE`: runs anybody's kernel on the virtual GPU.
void add_vgpu(CLI::App& app, Action& action);

}  // namespace evo::cli
