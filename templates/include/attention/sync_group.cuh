// Waits for the other warps of a group, and makes what they wrote to shared memory visible.
__device__ __forceinline__ void sync_group(int group) {
  if constexpr (group_threads == 32) {
    __syncwarp();
  } else if constexpr (${warps_k} == 1) {
    __syncthreads();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(group_threads) : "memory");
  }
}
