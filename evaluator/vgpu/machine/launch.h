#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/machine/block_demand.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/machine/trace.h"

namespace evo::vgpu {

class ObjectTable;
class Observer;
class WaitLog;

/// When a kernel counts as endless. A warp of the longest kernels here executes some ten million instructions.
struct Budget {
  std::uint64_t warp_instructions = 100'000'000;       ///< Of one warp.
  std::uint64_t launch_instructions = 40'000'000'000;  ///< Of all warps of a launch.
};

/// What a counter held before it was changed.
struct CounterBefore {
  std::byte* at = nullptr;
  std::uint32_t bytes = 0;
  std::uint64_t value = 0;
};

/// One kernel launch and what its blocks share while it runs.
struct Launch {
  const Kernel* kernel = nullptr;
  GlobalMemory* memory = nullptr;
  const ObjectTable* objects = nullptr;  ///< Textures and surfaces. Null: there are none.
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t dynamic_smem_bytes = 0;
  std::vector<std::byte> parameters;
  std::uint32_t registers_per_thread = 0;  ///< At the start; 0: unknown.
  bool programmatic = false;               ///< On a GPU it may begin before the launches ahead are over.
  TensorCoreNumerics numerics;
  std::uint32_t sm_count = 1;
  std::uint32_t resident_blocks = 1;  ///< How many blocks may be under way together, for kernels that spin on others.
  Budget budget;
  int threads = 1;  ///< Of the CPU, for independent blocks.
  /// Clusters that one which runs alone stands for: what it adds to a counter in global memory, each of them adds,
  /// those of lower numbers before it. It then draws its own ticket, and takes its own share of a queue of work.
  std::uint32_t stands_for = 1;
  std::vector<CounterBefore> counters;  ///< Those that it has changed so, in order.

  std::uint32_t* constants = nullptr;     ///< The kernel's constant rows, aligned.
  std::vector<const Allocation*> caches;  ///< The buffer that each memory instruction touched last.
  std::uint64_t grid_workspace = 0;       ///< Of a cooperative kernel: its barrier's address.
  std::uint64_t executed = 0;
  std::uint64_t progress = 0;           ///< Grows with whatever may end a wait: barriers, copies, threads that exit.
  bool takes_turns = false;             ///< Clusters let each other run often: one of them may spin on another's work.
  std::uint64_t phases = 0;             ///< Of all mbarriers: gives each phase a number.
  std::uint64_t tensor_operations = 0;  ///< tcgen05 instructions issued: gives each a number.
  BlockWork* work = nullptr;            ///< Filled for each block that ends, by its number; null: nobody asks.
  std::uint64_t salt = 0;               ///< Divides the kernel's instructions into BlockWork::code.
  std::optional<Failure> failure;
  FindingKind failure_kind = FindingKind::fault;
  std::uint32_t failure_line = 0;  ///< Of the CUDA source; 0: unknown.
  std::string printed;             ///< What printf wrote.

  Observer* observer = nullptr;  ///< Null: none.
  WaitLog* waits = nullptr;      ///< Of a kernel that awaits blocks. Null: run_blocks() makes one.

  // While `work` is asked for:
  std::vector<std::uint8_t> code_parts;  ///< Of each instruction. Empty: nothing is counted.
  std::vector<SharedPattern> patterns;   ///< Of each memory instruction.

  bool notes_accesses = false;         ///< They are counted or traced.
  Tracer* tracer = nullptr;            ///< Set while a sampled block runs.
  MemoryAccess access;                 ///< Filled by memory instructions while traced.
  std::vector<std::uint64_t> sectors;  ///< Of the access that is noted.
  BarrierArrival arrival;              ///< Filled by barriers while traced.
  AsyncAction async;                   ///< Filled by mbarrier instructions and bulk copies while traced.
  std::uint32_t paths = 1;             ///< Filled by branches while traced.
  Poll poll = Poll::none;              ///< Filled by branches at the ends of loops that poll memory.
};

inline Failure failure_of(Verdict verdict, std::string reason) {
  Failure failure;
  failure.verdict = verdict;
  failure.reason = std::move(reason);
  return failure;
}

}  // namespace evo::vgpu
