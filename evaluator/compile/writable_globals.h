#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// The variables in global memory that a program may write, by their names in the PTX: `__device__` and `__managed__`
/// variables, `static` ones inside kernels and those of inline PTX. They outlive a launch: a kernel could carry an
/// answer from one call to the next. State belongs into a workspace of the plan. PTX does not distinguish const
/// variables. One that is never named (as NVRTC leaves a constexpr), or only read, counts as a constant: by its name
/// (ld.global [name]), or by its address where that, moved and added to, goes to loads and to what prints (printf,
/// assert) alone. So tables are constants, those of sinf too.
std::vector<std::string> writable_globals(std::string_view ptx);

/// All variables of a program in global and constant memory, by their names in the PTX.
std::vector<std::string> device_variables(std::string_view ptx);

}  // namespace evo
