//% takes has_operands, k_bytes, v_bytes, operand_bytes = 0, preparing_warps = 0
// Shared memory: query tile | of each group: stages x key tile, stages x value tile${has_operands ? ' (as it arrives), stages x value operand (as the second product reads it)' : ''} |
// output tile | barriers. A group leaves its partial rows where its tiles were.

enum Event { keys_full, keys_free, values_full, values_free, ${has_operands ? 'operand_full, operand_free, events' : 'events, operand_full = values_full, operand_free = values_free'} };

struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address query() const { return start; }
  __device__ __forceinline__ shared_address group(int group) const { return start + ${q_bytes} + group * group_bytes; }
  __device__ __forceinline__ shared_address keys(int g, int stage) const { return group(g) + stage * ${k_bytes}; }
  __device__ __forceinline__ shared_address values(int g, int stage) const {
    return group(g) + ${stages * k_bytes} + stage * ${v_bytes};
  }
  __device__ __forceinline__ shared_address value_operand(int g, int stage) const {
    return group(g) + ${stages * (k_bytes + v_bytes)} + stage * ${operand_bytes};
  }
  __device__ __forceinline__ shared_address output() const { return start + ${q_bytes + warpgroups_k * group_bytes}; }
  __device__ __forceinline__ shared_address barrier(Event event, int group, int stage) const {
    return output() + ${o_bytes} + 8 * ((event * groups + group) * stages + stage);
  }
  // Of the 64 rows of a row warpgroup.
  __device__ __forceinline__ shared_address query_full(int row_part) const {
    return barrier(events, 0, 0) + 16 * row_part;
  }
  __device__ __forceinline__ shared_address query_free(int row_part) const { return query_full(row_part) + 8; }
};

__device__ __forceinline__ void init_barriers(const SharedMemory& smem) {
  constexpr bool has_operands = ${has_operands};
  constexpr int group_warps = 4 * row_warpgroups;
  constexpr int preparing_warps = ${preparing_warps};
  for (int row_part = 0; row_part < row_warpgroups; ++row_part) {
    init_barrier(smem.query_full(row_part), 1);
    init_barrier(smem.query_free(row_part), 4 * groups);
  }
  for (int group = 0; group < groups; ++group) {
    for (int stage = 0; stage < stages; ++stage) {
      init_barrier(smem.barrier(keys_full, group, stage), 1);
      init_barrier(smem.barrier(keys_free, group, stage), group_warps);
      if constexpr (!has_operands || preparing_warps > 0) {
        init_barrier(smem.barrier(values_full, group, stage), 1);
        init_barrier(smem.barrier(values_free, group, stage), has_operands ? preparing_warps : group_warps);
      }
      if constexpr (has_operands) {
        init_barrier(smem.barrier(operand_full, group, stage), preparing_warps > 0 ? preparing_warps : 1);
        init_barrier(smem.barrier(operand_free, group, stage), group_warps);
      }
    }
  }
  publish_barriers();
}
