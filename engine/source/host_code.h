#pragma once

#include <string>

namespace evo {

/// Whether a file has parts that only a compiler for the host reads: launches, main(), torch, its headers, std::vector.
bool has_host_code(const std::string& text);

/// The file's device code: without functions of the host (those that launch kernels, that use torch, the CUDA runtime
/// or the host's library, and those that no device code names), and without the headers that they need. Lines keep
/// their numbers.
std::string device_code(const std::string& text);

}  // namespace evo
