#pragma once

#include <string>
#include <vector>

/// The sources of kernels within an exported file.
namespace evo {

/// The kernel source between the lines that mark it, in its namespace.
std::string kernel_block(const std::string& source, const std::string& marker, const std::string& name_space,
                         const std::vector<std::string>& kernels, const std::string& suffix);

/// The lines that enclose source number `index`.
std::string begin_marker(std::size_t index);
std::string end_marker(std::size_t index);

/// The source as it stands in the file: it ends with a line break, and `#pragma unroll MACRO` has the macro's number,
/// because nvcc, unlike NVRTC, does not expand macros there.
std::string exported_source(const std::string& source);

}  // namespace evo
