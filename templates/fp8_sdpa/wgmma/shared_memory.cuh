// Shared memory: query tile | of each group: stages x key tile, stages x value tile (as it arrives), stages x
// transposed value tile | barriers. A group leaves its partial rows where its tiles were.

enum Event { keys_full, keys_free, values_full, values_free, transposed_full, transposed_free };

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address query() const { return start; }
  __device__ __forceinline__ shared_address group(int group) const {
    return start + ${q_bytes} + group * ${group_bytes};
  }
  __device__ __forceinline__ shared_address keys(int g, int stage) const { return group(g) + stage * ${k_bytes}; }
  __device__ __forceinline__ shared_address values(int g, int stage) const {
    return group(g) + ${stages * k_bytes} + stage * ${v_bytes};
  }
  __device__ __forceinline__ shared_address transposed(int g, int stage) const {
    return group(g) + ${stages * (k_bytes + v_bytes)} + stage * ${vt_bytes};
  }
  __device__ __forceinline__ shared_address query_full() const {
    return start + ${q_bytes + warpgroups_k * group_bytes};
  }
  __device__ __forceinline__ shared_address barrier(Event event, int group, int stage) const {
    return query_full() + 8 + 8 * ((event * groups + group) * stages + stage);
  }
};

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  constexpr int consumer_warps = 4 * row_warpgroups;  // of a group
  init_barrier(smem.query_full(), 1);
  for (int group = 0; group < groups; ++group) {
    for (int stage = 0; stage < stages; ++stage) {
      init_barrier(smem.barrier(keys_full, group, stage), 1);
      init_barrier(smem.barrier(keys_free, group, stage), consumer_warps);
      init_barrier(smem.barrier(values_full, group, stage), 1);
      init_barrier(smem.barrier(values_free, group, stage), transposing_warps);
      init_barrier(smem.barrier(transposed_full, group, stage), ${v_transpose == 'prepass' ? 1 : v_transpose == 'consumers' ? 4 * warpgroups_q : 4});
      init_barrier(smem.barrier(transposed_free, group, stage), consumer_warps);
    }
  }
  publish_barriers();
}

// The last eight rows of each panel: products with them sum the weights.
__device__ __forceinline__ void write_ones(const SharedMemory& smem) {
  constexpr int chunks = ${8 * panel / 16};  // of 16 codes, in each panel
  constexpr int panels = tile_k / panel;
  constexpr u32 ones = 0x38383838u;  // e4m3
  for (int i = threadIdx.x; i < groups * stages * panels * chunks; i += threads) {
    const int tile = i / (panels * chunks);
    const int p = i / chunks % panels;
    store_shared(smem.transposed(tile / stages, tile % stages) + p * panel_bytes + head_dim * panel + i % chunks * 16,
                 make_uint4(ones, ones, ones, ones));
  }
}
