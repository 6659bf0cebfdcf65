#pragma once

#include <cstdint>

namespace evo {

/// How many rights a worker gives up before it touches anything of a candidate, in addition to become_worker. Device
/// code cannot call the system. This guards against faults in the programs that handle it: compiler, interpreter,
/// driver.
enum class WorkerKind {
  host_only,  ///< Needs the CPU alone: no network, no other programs, no files of its own, memory up to a limit.
  gpu,        ///< Needs a driver, which maps far more than it uses and starts helpers: no network.
};

/// Where the system cannot restrict one of these, the worker goes on unrestricted.
void reduce_rights(WorkerKind kind);

/// Address space of a host-only worker in bytes: half of the machine's memory, 4 GiB at least. A candidate that needs
/// more fails instead of driving the machine into swap.
std::uint64_t host_worker_memory_bytes();

}  // namespace evo
