#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "evaluator/vgpu/machine/access_mode.h"
#include "evaluator/vgpu/machine/block.h"
#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/machine/observer.h"
#include "evaluator/vgpu/machine/wait_log.h"

/// From a warp's addresses to bytes of this process, every access checked.
namespace evo::vgpu {

/// The complete check, lane by lane, for accesses that the fast path does not settle. Fills `touched.at` or fails the
/// warp.
bool resolve_lane_by_lane(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                          Touched& touched);

/// The bytes of one lane's access of any size, aligned or not. Null when the warp has failed.
std::byte* resolve_lane(Warp& warp, const Instruction& in, int lane, AccessMode mode, std::uint64_t address,
                        std::uint32_t bytes);

/// Where a shared-memory address of `bytes` bytes leads, checked. Nothing when the warp has failed.
std::optional<SharedPlace> shared_place(Warp& warp, const Instruction& in, int lane, AccessMode mode,
                                        std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment);

/// "byte 12 of 'tile' (shared memory, 512 bytes)": for reports.
std::string describe_place(const Warp& warp, AccessMode mode, std::uint64_t address);

/// Counts the access and notes it for the tracer. `touched.address` must be filled.
void note_access(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode, std::uint32_t bytes,
                 const Touched& touched);

/// The same for a texture fetch, which reads several texels of global memory a lane: one mask for each of `touched`.
void note_texels(Warp& warp, const Instruction& in, std::span<const std::uint32_t> masks, std::uint32_t bytes,
                 std::span<const Touched> touched);

/// Counts an access of all 32 lanes, one behind the other from `first`. Nobody traces it.
void count_contiguous(Warp& warp, const Instruction& in, AccessMode mode, std::uint64_t first, std::uint32_t bytes);

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
      if (buffer == nullptr || (mode.writes && (buffer->read_only || buffer->closed))) return {};
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

/// Fills `touched.at` for accesses of `bytes` at `touched.address`, which all lanes have: those outside of the mask one
/// of a lane inside. False when the warp has failed.
EVO_INLINE bool resolve_addresses(Warp& warp, const Instruction& in, std::uint32_t mask, AccessMode mode,
                                  std::uint32_t bytes, Touched& touched) {
  std::uint64_t low = touched.address[0], high = low, all = low;
  for (int lane = 1; lane < 32; ++lane) {
    const std::uint64_t address = touched.address[lane];
    low = address < low ? address : low;
    high = address > high ? address : high;
    all |= address;
  }
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
  if (warp.launch->notes_accesses) note_access(warp, in, mask, mode, bytes, touched);
  if (warp.launch->waits != nullptr) warp.launch->waits->access(warp, in, mask, bytes, touched);
  return resolve_addresses(warp, in, mask, mode, bytes, touched);
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
  const Launch& launch = *warp.launch;
  if (mask != kAllLanes || launch.tracer != nullptr || launch.observer != nullptr || launch.waits != nullptr)
    return nullptr;
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
  if (launch.notes_accesses) count_contiguous(warp, in, mode, first, bytes);
  return reach.host + (first - reach.begin);
}

// What instructions call once their addresses are resolved.

EVO_INLINE void observe_load(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes,
                             const Touched& touched, bool collective = false) {
  if (warp.launch->observer == nullptr) return;
  warp.launch->observer->load(warp, in, mask, AccessMode::decoded(in.aux0), bytes, touched, collective);
}
EVO_INLINE void observe_store(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes,
                              const Touched& touched, std::uint32_t changed = kAllLanes) {
  if (warp.launch->observer == nullptr) return;
  warp.launch->observer->store(warp, in, mask, AccessMode::decoded(in.aux0), bytes, touched, changed);
}
EVO_INLINE void observe_atomic(Warp& warp, const Instruction& in, std::uint32_t mask, std::uint32_t bytes,
                               const Touched& touched) {
  if (warp.launch->observer == nullptr) return;
  warp.launch->observer->atomic(warp, in, mask, AccessMode::decoded(in.aux0), bytes, touched);
}

}  // namespace evo::vgpu
