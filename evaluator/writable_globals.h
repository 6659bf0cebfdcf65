#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// The variables of a program in global memory, by their names in the PTX: `__device__` and `__managed__`
/// variables and `static` ones inside kernels. They outlive a launch, so a kernel could carry an answer from
/// one call to the next; state belongs into a workspace of the plan, tables into `__constant__` memory. PTX
/// does not tell const from mutable ones, so both are listed; the compiler's own string literals ("$str",
/// "__unnamed_1") are not.
std::vector<std::string> writable_globals(std::string_view ptx);

}  // namespace evo
