#pragma once

#include <cstdint>

namespace evo {

/// What a worker gives up before it touches anything of a candidate, beside what become_worker takes from it. Device
/// code cannot ask the system for anything; this is for faults in what handles it: the compiler, the interpreter, the
/// driver.
enum class WorkerKind {
  host_only,  ///< Compiler and virtual GPU: no network, no other programs, no files of its own, memory up to a limit.
  gpu,        ///< The driver maps far more than it uses and starts helpers: no network.
};

/// Where the system does not offer one of these, the worker goes on without it.
void reduce_rights(WorkerKind kind);

/// Address space of a host-only worker in bytes: half of the machine's memory, 4 GiB at least. A candidate that wants
/// more is told so instead of driving the machine into swap.
std::uint64_t host_worker_memory_bytes();

}  // namespace evo
