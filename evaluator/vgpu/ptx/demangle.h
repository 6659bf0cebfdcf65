#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evo::vgpu::ptx {

/// The C++ declaration behind a mangled name in PTX: "kernel(float*)" for "_Z6kernelPf". Empty for a name that is not
/// mangled, such as that of an extern "C" kernel.
std::optional<std::string> demangled(std::string_view name);

}  // namespace evo::vgpu::ptx
