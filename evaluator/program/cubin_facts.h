#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/result/build.h"

namespace evo::program {

/// The registers that the kernels of a cubin take, by their names in PTX. Empty for anything that is no well-formed
/// cubin.
std::map<std::string, KernelBuild> kernels_of_cubin(std::string_view cubin);

}  // namespace evo::program
