#pragma once

#include <string>
#include <string_view>

namespace evo::vgpu {

/// The C++ name behind a name in PTX: "kernel(float*)::tile" of _ZZ6kernelPfE4tile. Other names stay as they are.
std::string demangled(std::string_view name);

}  // namespace evo::vgpu
