#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/numbers/lanes.h"

/// From a warp's addresses to bytes of this process, every access checked.
namespace evo::vgpu {

enum class Where : std::uint8_t { generic, global, shared, local, parameter, cluster };

/// Instruction::aux0 of memory instructions.
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

/// The complete check, lane by lane; fills `touched.at` or fails the warp. For what the fast path does not
/// settle.
bool resolve_lane_by_lane(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                          Touched& touched);

/// The bytes of one lane's access of any size, aligned or not. Null when the warp has failed.
std::byte* resolve_lane(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t address,
                        std::uint32_t bytes);

/// "byte 12 of 'tile' (shared memory, 512 bytes)": for reports.
std::string describe_place(const Warp& warp, AccessMode mode, std::uint64_t address);

/// Tells the tracer. `touched.address` must be filled.
void trace_access(Warp& warp, std::uint32_t mask, AccessMode mode, std::uint32_t bytes, const Touched& touched);

/// The bytes that accesses of one mode can reach without a closer look: `host` is where address `begin` is.
struct Reach {
  std::byte* host = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The buffer that the instruction touched last, or shared memory. Empty where only resolve_lane_by_lane()
/// knows.
EVO_INLINE Reach reach_of(Warp& warp, const Instruction& in, AccessMode mode) {
  switch (mode.where) {
    case Where::generic:
    case Where::global: {
      const Allocation* buffer = warp.launch->caches[in.cache];
      if (buffer == nullptr || (mode.writes && buffer->read_only)) return {};
      return {buffer->host, buffer->begin, buffer->end};
    }
    case Where::shared: {
      auto& shared = warp.block->shared;
      return {shared.data() + kReservedSmemBytes, kReservedSmemBytes, shared.size()};
    }
    default:
      return {};
  }
}

/// Fills `touched` for accesses of `bytes` at register `base` + `offset`. False when the warp has failed.
EVO_INLINE bool resolve_at(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, Place base,
                           std::uint64_t offset, std::uint32_t bytes, Touched& touched) {
  if (mode.wide_base) {
    const std::uint64_t* row = source_row<std::uint64_t>(warp, base);
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) touched.address[lane] = row[lane] + offset;
  } else {
    const Word* row = warp.row(base);
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) touched.address[lane] = row[lane] + static_cast<Word>(offset);
  }
  if (mask != kAllLanes) {
    const std::uint64_t stand_in = touched.address[std::countr_zero(mask)];
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) {
      touched.address[lane] = (mask >> lane & 1u) != 0 ? touched.address[lane] : stand_in;
    }
  }
  std::uint64_t low = touched.address[0], high = low, all = low;
  for (int lane = 1; lane < 32; ++lane) {
    const std::uint64_t address = touched.address[lane];
    low = address < low ? address : low;
    high = address > high ? address : high;
    all |= address;
  }
  if (warp.launch->tracer != nullptr) trace_access(warp, mask, mode, bytes, touched);
  const Reach reach = reach_of(warp, in, mode);
  // `high < end` comes first, so the difference cannot wrap. An empty reach admits nothing.
  const bool inside = low >= reach.begin && high < reach.end && reach.end - high >= bytes;
  if (!inside || (all & (bytes - 1)) != 0) {
    return resolve_lane_by_lane(warp, in, mask, mode, bytes, touched);
  }
  EVO_LANE_LOOP
  for (int lane = 0; lane < 32; ++lane) {
    touched.at[lane] = reach.host + (touched.address[lane] - reach.begin);
  }
  return true;
}

/// The same with the mode in in.aux0 and the offset in in.immediate: for instructions with one address.
EVO_INLINE bool resolve(Warp& warp, const Instruction& in, std::uint32_t mask, Place base, std::uint32_t bytes,
                        Touched& touched) {
  return resolve_at(warp, in, mask, AccessMode::decoded(in.aux0), base, static_cast<std::uint64_t>(in.immediate), bytes,
                    touched);
}

/// Where the lanes' bytes begin when all 32 lanes access `bytes` each, one behind the other, within reach;
/// else null. The commonest case, settled with one comparison of rows.
EVO_INLINE std::byte* contiguous_bytes(Warp& warp, const Instruction& in, std::uint32_t mask, Place base,
                                       std::uint32_t bytes) {
  if (mask != kAllLanes || warp.launch->tracer != nullptr || warp.launch->sanitiser != nullptr) return nullptr;
  const AccessMode mode = AccessMode::decoded(in.aux0);
  std::uint64_t first = 0;
  std::uint64_t differs = 0;
  if (mode.wide_base) {
    const std::uint64_t* row = source_row<std::uint64_t>(warp, base);
    for (std::uint64_t lane = 0; lane < 32; ++lane) differs |= row[lane] ^ (row[0] + lane * bytes);
    first = row[0] + static_cast<std::uint64_t>(in.immediate);
  } else {
    const Word* row = warp.row(base);
    Word words = 0;
    for (Word lane = 0; lane < 32; ++lane) words |= row[lane] ^ (row[0] + lane * bytes);
    differs = words;
    first = static_cast<Word>(row[0] + static_cast<Word>(in.immediate));
  }
  const Reach reach = reach_of(warp, in, mode);
  const bool inside = first >= reach.begin && first < reach.end && reach.end - first >= 32 * bytes;
  if (differs != 0 || !inside || first % bytes != 0) return nullptr;
  return reach.host + (first - reach.begin);
}

}  // namespace evo::vgpu
