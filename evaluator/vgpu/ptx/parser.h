#pragma once

#include <memory>
#include <string>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu::ptx {

/// Reads a PTX module. Throws LoadError naming the PTX line for anything malformed or unknown. Whether an
/// instruction exists is not looked at here.
std::unique_ptr<Module> parse(std::string text);

}  // namespace evo::vgpu::ptx
