#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace evo {

/// The names of the __global__ functions of a source, each once, without namespaces.
std::vector<std::string> kernel_functions(const std::string& source);

/// How many parameters a __global__ function of a source has; empty where it has none of this name.
std::optional<std::size_t> parameter_count(const std::string& source, const std::string& kernel);

/// The __global__ templates of a source, each as an instance that shows how one is named: "fill<float, 64>".
std::vector<std::string> kernel_templates(const std::string& source);

/// The names of the functions and variables that a source declares extern "C", each once. A source that has such
/// declarations may have all its __global__ functions among them: these are included.
std::vector<std::string> c_names(const std::string& source);

}  // namespace evo
