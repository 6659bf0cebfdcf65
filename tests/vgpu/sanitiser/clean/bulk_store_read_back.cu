// run: --block 64 --arg out=int[64]:unset --arg copy=int[64]:unset
// The wait for the first store ends when its source has been read, the wait for the last when both have written.
__global__ void store(int* out, int* copy) {
  __shared__ alignas(128) int tile[32];
  const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  for (int half = 0; half < 2; ++half) {
    if (threadIdx.x < 32) tile[threadIdx.x] = half * 32 + threadIdx.x;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out + 32 * half), "r"(from) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  __syncthreads();
  copy[threadIdx.x] = out[63 - threadIdx.x];
}
