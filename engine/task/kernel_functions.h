#pragma once

#include <string>
#include <vector>

namespace evo {

/// The names of the __global__ functions of a source, each once, without namespaces.
std::vector<std::string> kernel_functions(const std::string& source);

}  // namespace evo
