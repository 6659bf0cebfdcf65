// Shared memory: stages x (tile of a, tiles of b) | results on their way out | barriers. Rows lie in panels of 64
// depths, those of a b [K, N] in panels of 64 columns: 128 bytes a row, swizzled.

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address a(int stage) const { return start + stage * stage_bytes; }
  __device__ __forceinline__ shared_address b(int stage, int tile = 0) const {
    return a(stage) + a_bytes + tile * b_bytes;
  }
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

// Frees the stages of the CTAs that bring operands for this one: lane p of a warp tells the p-th of them.
struct StageRelease {
  shared_address first_free;
  int lane;

  __device__ __forceinline__ void operator()(int stage) const {
    if constexpr (cluster_size > 1) {
      if (lane < peers) arrive_in_cluster(first_free + 8 * stage);
    } else {
      if (lane == 0) arrive(first_free + 8 * stage);
    }
  }
};

// `rank` is that of the lane's CTA.
__device__ __forceinline__ StageRelease stage_release(const SharedMemory& smem, int rank) {
  const int lane = threadIdx.x % 32;
  return {cluster_size > 1 ? address_in(rank, smem.free(0)) : smem.free(0), lane};
}

// The box at (x, y, z), for this CTA alone or for those of the cluster that `ranks` names.
template <int ctas>
__device__ __forceinline__ void bring_box(unsigned short ranks, shared_address to, const TensorMap& map,
                                          shared_address full, int x, int y, int z = 0) {
  if constexpr (ctas > 1) {
    load_box_for(ranks, to, map, full, x, y, z);
  } else {
    load_box(to, map, full, x, y, z);
  }
}

// The start of a CTA: its barriers are there for all.
template <typename Memory, typename... Maps>
__device__ __forceinline__ void start_cta(const Memory& smem, const Maps&... maps) {
  if (threadIdx.x == consumer_threads) {
    (prefetch_tensor_map(maps), ...);
    init_barriers(smem);
  }
  if constexpr (cluster_size > 1) {
    sync_cluster();  // nobody sends to a CTA whose barriers are not there yet
  } else {
    __syncthreads();
  }
  overlap_launches();
}

__device__ __forceinline__ void end_cta() {
  if constexpr (cluster_size > 1) {
    __syncwarp();
    sync_cluster();  // others may still arrive at this CTA's barriers
  }
}
