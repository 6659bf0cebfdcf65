#pragma once

#include <span>
#include <string>
#include <variant>

namespace evo {

struct NoSuchKernel {
  std::string why;  ///< "the program has no kernel scal; there are: scale"
};

/// The name in PTX of a kernel that is called by its name in C++: qualified or not, or as in PTX. `kernels` are the
/// names in PTX that there are.
std::variant<std::string, NoSuchKernel> find_kernel(std::span<const std::string> kernels, const std::string& wanted);

/// "scale, ns::gather"
std::string list_of_kernels(std::span<const std::string> ptx_names);

}  // namespace evo
