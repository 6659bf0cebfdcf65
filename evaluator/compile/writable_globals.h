#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// The variables in global memory that a program may write, by their names in the PTX: `__device__` and `__managed__`
/// variables, `static` ones inside kernels and those of inline PTX. They outlive a launch: a kernel could carry an
/// answer from one call to the next. State belongs into a workspace of the plan. PTX does not distinguish const
/// variables. One that is only read by name (ld.global [name]), or never named (as NVRTC leaves a constexpr), counts as
/// a constant; one whose address is taken counts as written, unless the address is only printed (printf, assert).
std::vector<std::string> writable_globals(std::string_view ptx);

}  // namespace evo
