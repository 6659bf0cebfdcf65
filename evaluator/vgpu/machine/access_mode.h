#pragma once

#include <cstddef>
#include <cstdint>

#include "evaluator/vgpu/numbers/cpu_clones.h"

/// How an instruction accesses memory.
namespace evo::vgpu {

enum class Where : std::uint8_t { generic, global, shared, local, parameter, cluster };

/// In Instruction::aux0 of memory instructions.
struct AccessMode {
  Where where = Where::generic;
  bool wide_base = true;  ///< The address register has 64 bits.
  bool writes = false;

  constexpr std::uint32_t encoded() const {
    return static_cast<std::uint32_t>(where) | (wide_base ? 8u : 0u) | (writes ? 16u : 0u);
  }
  static EVO_INLINE AccessMode decoded(std::uint32_t bits) {
    return {static_cast<Where>(bits & 7u), (bits & 8u) != 0, (bits & 16u) != 0};
  }
};

/// Where each lane's access leads. Lanes outside the mask have the bytes of one inside it.
struct Touched {
  alignas(64) std::uint64_t address[32];
  alignas(64) std::byte* at[32];
};

/// How an instruction orders memory; in the upper bits of aux0 of loads, stores, atomics and fences. The interpreter's
/// memory is sequentially consistent: only an observer heeds it.
struct MemoryOrder {
  bool strong = false;
  bool acquires = false;
  bool releases = false;
  bool block_scope = false;
  bool proxy = false;        ///< fence.proxy.async
  bool is_volatile = false;  ///< Strong for the hardware; C++ promises no order between threads.
  bool read_only = false;    ///< ld.global.nc, ldu: of memory that nobody writes while the kernel runs.

  constexpr std::uint32_t encoded() const {
    return (strong ? 1u << 8 : 0) | (acquires ? 1u << 9 : 0) | (releases ? 1u << 10 : 0) |
           (block_scope ? 1u << 11 : 0) | (proxy ? 1u << 12 : 0) | (is_volatile ? 1u << 13 : 0) |
           (read_only ? 1u << 14 : 0);
  }
  static MemoryOrder decoded(std::uint32_t bits) {
    return {(bits & 1u << 8) != 0,  (bits & 1u << 9) != 0,  (bits & 1u << 10) != 0, (bits & 1u << 11) != 0,
            (bits & 1u << 12) != 0, (bits & 1u << 13) != 0, (bits & 1u << 14) != 0};
  }
};

}  // namespace evo::vgpu
