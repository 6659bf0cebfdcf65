#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace evo::vgpu {

enum class FindingKind : std::uint8_t {
  bad_access,         ///< Out of bounds, misaligned, a write to constant memory.
  uninitialised,      ///< A use of what nobody has written, or of what a shuffle takes from a lane that is not there.
  race,               ///< Two accesses that nothing orders.
  stale_read,         ///< A read through the read-only cache of what the same launch writes.
  unwaited_copy,      ///< An asynchronous copy that is used, or left, before it was waited for.
  divergent_barrier,  ///< Lanes of a warp that are not together at a barrier that needs them all.
  deadlock,           ///< No warp can advance.
  fault,              ///< Every other misuse that ends a launch: a trap, a bad descriptor, a runaway kernel.
  // Weaker ones, which many kernels have on purpose:
  unordered_volatile,  ///< A loop reads volatile global memory, and what it finds depends on who comes first.
  benign_looking,      ///< A racing write of equal bytes, a barrier of all threads that some have left before.
};
std::string_view name_of(FindingKind kind);
/// Whether a finding of this kind counts only where somebody asks for all.
constexpr bool is_weaker(FindingKind kind) {
  return kind >= FindingKind::unordered_volatile;
}

/// Which findings are wanted.
enum class Strictness : std::uint8_t { usual, strict };

/// An error that launches have made, once or often.
struct Finding {
  FindingKind kind = FindingKind::fault;
  std::string kernel;
  std::uint32_t line = 0;  ///< Of the CUDA source; 0: unknown.
  std::string text;        ///< Complete: kernel, line, block, thread, instruction, what is wrong.
  /// The cause and its lines: "missing __syncthreads: line 4 writes 'tile', line 6 reads it". Empty: only the text
  /// says.
  std::string brief;
  std::uint64_t count = 1;  ///< How often it happened.
};

}  // namespace evo::vgpu
