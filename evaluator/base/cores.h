#pragma once

namespace evo {

/// Cores that this process may use: those of its affinity mask (taskset, containers), at least one.
int usable_cores();

/// The calling thread, and the processes that it starts from now on, leave the cores to whatever else wants them.
void yield_cores();

}  // namespace evo
