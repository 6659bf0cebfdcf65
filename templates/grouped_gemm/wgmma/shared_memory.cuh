// Shared memory: stages x (tile of a, tile of each matrix of b) | results on their way out | barriers | tiles to make.
// Rows lie in panels of 64 depths: 128 bytes a row, swizzled.

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address a(int stage) const {
    return start + stage * (a_bytes + parts * part_bytes);
  }
  __device__ __forceinline__ shared_address b(int stage, int part) const {
    return a(stage) + a_bytes + part * part_bytes;
  }
  __device__ __forceinline__ shared_address staging() const { return a(stages); }
  __device__ __forceinline__ shared_address full(int stage) const {
    return staging() + ${staging_bytes} + 8 * stage;
  }
  // Freed by every consumer warp that reads what this CTA loads.
  __device__ __forceinline__ shared_address free(int stage) const { return full(stages + stage); }
  // A tile, and barriers that it is there and that all consumer warps have read it.
  __device__ __forceinline__ shared_address tile(int slot) const { return full(2 * stages) + 32 * slot; }
  __device__ __forceinline__ shared_address tile_full(int slot) const { return tile(slot) + 16; }
  __device__ __forceinline__ shared_address tile_free(int slot) const { return tile(slot) + 24; }
};

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  for (int stage = 0; stage < stages; ++stage) {
    init_barrier(smem.full(stage), 1);
    init_barrier(smem.free(stage), 4 * warpgroups * cluster_n);
  }
  for (int slot = 0; slot < tile_slots; ++slot) {
    init_barrier(smem.tile_full(slot), 1);
    init_barrier(smem.tile_free(slot), 4 * warpgroups);
  }
  publish_barriers();
}
