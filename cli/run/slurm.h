#pragma once

#include <string>
#include <vector>

namespace evo::cli {

/// The prefixes of the nodes of the Slurm allocation that this process is in: commands that run their arguments there
/// (`--workers slurm`). Throws usage_error outside of an allocation, machine_error when Slurm does not name its nodes.
std::vector<std::string> prefixes_of_allocation();

/// `--slurm OPTIONS`: replaces this process by salloc, which asks for an allocation with OPTIONS and runs in it what
/// this process was called with, on all of its nodes. The allocation ends with the run. Throws machine_error where
/// there is no salloc.
[[noreturn]] void run_in_allocation(const std::string& options);

}  // namespace evo::cli
