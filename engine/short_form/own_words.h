#pragma once

#include <string>

namespace evo {

/// A word of CUDA C++ that a kernel is likely to have: as a macro it would change what the kernel says.
bool is_cuda_word(const std::string& name);

/// Whether a name means something else in expressions, or in the C++ and Python of exported kernels: "in", "sm", "new".
bool is_taken_word(const std::string& name);

}  // namespace evo
