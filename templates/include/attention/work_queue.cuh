#pragma once
// A queue of works. The producer takes the next one from a counter in global memory, which begins at zero, and passes it
// on to the consumers through two slots of shared memory. CTAs that are ahead take more, and all end at about the same
// time. A CTA's first work is the one of its own number.

constexpr int work_slots = 2;
constexpr uint2 no_work = {~0u, ~0u};  // there are no more

// Behind the barriers of the queries: of each slot a barrier that it is full, one that it is free, and the work: {row tile, head}.
__device__ __forceinline__ shared_address work_full(const SharedMemory& smem, int slot) {
  return smem.query_full(row_warpgroups) + 24 * slot;
}
__device__ __forceinline__ shared_address work_free(const SharedMemory& smem, int slot) {
  return work_full(smem, slot) + 8;
}
__device__ __forceinline__ shared_address work_taken(const SharedMemory& smem, int slot) {
  return work_full(smem, slot) + 16;
}

__device__ __forceinline__ void init_work_queue(const SharedMemory& smem) {
  for (int slot = 0; slot < work_slots; ++slot) {
    init_barrier(work_full(smem, slot), 1);
    init_barrier(work_free(smem, slot), 4 * row_warpgroups * groups);
  }
}

// The works in the order in which they are taken. Causal: the longest rows first, of as many heads together as have keys and
// values of 32 MiB, which the L2 cache holds. The last to be taken are the shortest. Else neighbours share keys and values.
// `i` is below row_tiles * heads. Returns {row tile, head}.
__device__ __forceinline__ uint2 work_at(int i, int row_tiles, int heads, int S) {
  if (!causal) return {(u32)(i % row_tiles), (u32)(i / row_tiles)};
  const int heads_together = max(1, (32 << 20) / head_bytes_per_key / S);
  const int first_head = i / (row_tiles * heads_together) * heads_together;
  const int together = min(heads_together, heads - first_head);
  const int behind = i - first_head * row_tiles;
  return {(u32)(row_tiles - 1 - behind / together), (u32)(first_head + behind % together)};
}

// For the producer: calls `body` with each work that this CTA takes. The next one is taken when all of a work's loads are
// under way, not earlier: otherwise a CTA with a long work would hold back another one.
template <typename Body>
__device__ __forceinline__ void take_works(const SharedMemory& smem, u32* next_work, int S, int heads, const Body& body) {
  const int row_tiles = (S + tile_q - 1) / tile_q;
  RingPlace<work_slots> place;
  for (int i = blockIdx.x;; i = gridDim.x + atomicAdd(next_work, 1)) {
    const bool taken = i < row_tiles * heads;
    const uint2 work = taken ? work_at(i, row_tiles, heads, S) : no_work;
    wait_for(work_free(smem, place.stage), place.free_parity());
    store_shared(work_taken(smem, place.stage), work);
    arrive(work_full(smem, place.stage));
    place.advance();
    if (!taken) return;
    body(work_of(work.x, work.y, 0, S));
  }
}

// For the consumers: calls `body` with the same works.
template <typename Body>
__device__ __forceinline__ void follow_works(const SharedMemory& smem, int S, const Body& body) {
  RingPlace<work_slots> place;
  while (true) {
    wait_for(work_full(smem, place.stage), place.full_parity());
    const uint2 work = load_shared_u32x2(work_taken(smem, place.stage));
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(work_free(smem, place.stage));
    place.advance();
    if (work.x == no_work.x) return;
    body(work_of(work.x, work.y, 0, S));
  }
}
