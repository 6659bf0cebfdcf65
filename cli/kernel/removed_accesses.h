#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace evo::cli {

/// The lines of a CUDA file in which its PTX reads or writes shared memory, global variables, or what a kernel's
/// arguments point to. `file`: how the compiler was told to name it. PTX of a debug build has all that the source has.
std::set<std::uint32_t> lines_with_accesses(std::string_view ptx, std::string_view file);

}  // namespace evo::cli
