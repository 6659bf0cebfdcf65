#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace evo {

/// How many rights a worker gives up before it touches anything of a candidate, in addition to become_worker. Device
/// code cannot call the system. This guards against faults in the programs that handle it: compiler, interpreter,
/// driver.
enum class WorkerKind {
  host_only,  ///< Needs the CPU alone: a list of harmless system calls, no file of its own, memory up to a limit.
  gpu,        ///< Needs a driver, which maps far more than it uses and starts helpers: no network, no other processes.
};

/// Where the system cannot restrict one of these, the worker goes on unrestricted.
void reduce_rights(WorkerKind kind);

/// From now on this process, a host-only worker with all libraries loaded, reads files below these folders and no
/// others, and opens the memory of no other process (Landlock, where the kernel has it).
void confine_reading(const std::vector<std::filesystem::path>& folders);

/// Address space of a host-only worker in bytes: half of the machine's memory, 4 GiB at least. A candidate that needs
/// more fails instead of driving the machine into swap.
std::uint64_t host_worker_memory_bytes();

}  // namespace evo
