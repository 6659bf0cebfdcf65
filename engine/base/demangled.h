#pragma once

#include <string>
#include <string_view>

namespace evo {

/// The C++ name behind a name in PTX: "kernel(float*)::tile" of _ZZ6kernelPfE4tile. Other names stay as they are.
std::string demangled(std::string_view name);

/// How people call a kernel, from its name in PTX: "saxpy", "ns::saxpy", "reduce<float, 256>".
std::string readable_kernel_name(std::string_view ptx_name);

/// "reduce" of "ns::reduce<float, 256>".
std::string bare_kernel_name(std::string_view kernel);

}  // namespace evo
