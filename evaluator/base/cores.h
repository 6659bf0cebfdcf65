#pragma once

namespace evo {

/// Cores that this process may use: those of its affinity mask (taskset, containers), at least one.
int usable_cores();

}  // namespace evo
