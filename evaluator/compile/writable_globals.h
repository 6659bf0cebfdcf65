#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// The variables in global memory that a program may write, by their names in the PTX: `__device__` and `__managed__`
/// variables, `static` ones inside kernels and those of inline PTX. They outlive a launch, so a kernel could carry an
/// answer from one call to the next; state belongs into a workspace of the plan. PTX does not tell const from mutable
/// ones, so those that are only ever read by name (ld.global [name]) or never named at all (what NVRTC leaves of a
/// constexpr) are taken as constants; one whose address is taken counts as written.
std::vector<std::string> writable_globals(std::string_view ptx);

}  // namespace evo
