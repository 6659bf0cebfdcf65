#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/kernel/kernel_arguments.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {

/// The types of a function's parameters from its demangled name: {"float*", "int"} of "k(float*, int)". Empty for a
/// name without them, of a function with C linkage.
std::vector<std::string> parameter_types(const std::string& demangled);

/// Throws usage_error where an argument cannot be what the kernel's parameter is. `kernel` is its name for messages,
/// `ptx_name` the one that holds its types if it is a C++ function.
void check_arguments(const std::string& kernel, const std::string& ptx_name,
                     std::span<const vgpu::DeclaredParameter> parameters, std::span<const ArgumentSpec> arguments);

}  // namespace evo::cli
