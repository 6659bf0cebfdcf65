#pragma once

#include <span>
#include <string>

#include "cli/kernel/kernel_arguments.h"
#include "evaluator/vgpu/virtual_device.h"

/// The __device__ and __constant__ variables of a user's file.
namespace evo::cli {

/// Parses `--symbol NAME=TYPE[N]:FILLING` or `NAME=TYPE:VALUE`. The spec has the variable's name. Throws usage_error.
BufferSpec parse_symbol(const std::string& text);

/// The variable that C++ calls `name`, with or without its namespace. Throws usage_error when there is none, or
/// several.
const vgpu::DeclaredVariable& variable_named(std::span<const vgpu::DeclaredVariable> variables, const std::string& name,
                                             const std::string& file);

}  // namespace evo::cli
