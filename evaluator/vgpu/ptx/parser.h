#pragma once

#include <memory>
#include <string>

#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu::ptx {

/// Parses a PTX module. Throws LoadError with the PTX line for anything malformed or unknown. It does not check that
/// instructions exist.
std::unique_ptr<Module> parse(std::string text);

}  // namespace evo::vgpu::ptx
