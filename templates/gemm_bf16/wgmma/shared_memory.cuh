// Shared memory: stages x (tile of a, tile of b) | results on their way out | barriers. Rows of a (and of b, nk) lie in
// panels of 64 depths, those of b (kn) in panels of 64 columns: 128 bytes a row, swizzled.

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address a(int stage) const { return start + stage * (a_bytes + b_bytes); }
  __device__ __forceinline__ shared_address b(int stage) const { return a(stage) + a_bytes; }
  __device__ __forceinline__ shared_address staging() const { return a(stages); }
  __device__ __forceinline__ shared_address full(int stage) const {
    return staging() + ${staging_bytes} + 8 * stage;
  }
  // Freed by every consumer warp that reads what this CTA loads.
  __device__ __forceinline__ shared_address free(int stage) const { return full(stages + stage); }
};

constexpr int peers = cluster_m + cluster_n - 1;  // CTAs that share an operand with this one, itself included

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  for (int stage = 0; stage < stages; ++stage) {
    init_barrier(smem.full(stage), 1);
    init_barrier(smem.free(stage), 4 * warpgroups * peers);
  }
  publish_barriers();
}
