// Shared memory: query tile | of each group: stages x key tile, stages x value tile | output tile | barriers. A group
// leaves its partial rows where its tiles were.

enum Event { keys_full, keys_free, values_full, values_free, events };

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address query() const { return start; }
  __device__ __forceinline__ shared_address group(int group) const { return start + ${q_bytes} + group * group_bytes; }
  __device__ __forceinline__ shared_address keys(int g, int stage) const { return group(g) + stage * ${tile_bytes}; }
  __device__ __forceinline__ shared_address values(int g, int stage) const {
    return group(g) + ${stages * tile_bytes} + stage * ${tile_bytes};
  }
  __device__ __forceinline__ shared_address output() const { return start + ${q_bytes + warpgroups_k * group_bytes}; }
  __device__ __forceinline__ shared_address barrier(Event event, int group, int stage) const {
    return output() + ${o_bytes} + 8 * ((event * groups + group) * stages + stage);
  }
  __device__ __forceinline__ shared_address query_full() const { return barrier(events, 0, 0); }
  __device__ __forceinline__ shared_address query_free() const { return query_full() + 8; }
};

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  constexpr int group_warps = 4 * row_warpgroups;
  init_barrier(smem.query_full(), 1);
  init_barrier(smem.query_free(), consumer_threads / 32);
  for (int group = 0; group < groups; ++group) {
    for (int stage = 0; stage < stages; ++stage) {
      init_barrier(smem.barrier(keys_full, group, stage), 1);
      init_barrier(smem.barrier(keys_free, group, stage), group_warps);
      init_barrier(smem.barrier(values_full, group, stage), 1);
      init_barrier(smem.barrier(values_free, group, stage), group_warps);
    }
  }
  publish_barriers();
}
