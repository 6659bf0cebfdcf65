// run: --grid 4 --block 64 --arg out=float[64]:unset --arg parts=float[256]:unset --arg ready=int[1]:zeros --arg in=float[256]:iota
// One thread spins until the other blocks have written their parts, while the rest of its warp waits at the barrier.
__global__ void sum_parts(float* out, float* parts, int* ready, const float* in) {
  const int at = blockIdx.x * 64 + threadIdx.x;
  float sum = in[at];
  if (blockIdx.x > 0) {
    parts[at] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(ready) : "memory");
    return;
  }
  if (threadIdx.x == 0) {
    int seen;
    do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(ready) : "memory");
    while (seen < 3);
  }
  __syncthreads();
  for (int block = 1; block < 4; ++block) sum += parts[block * 64 + 63 - threadIdx.x];
  out[threadIdx.x] = sum;
}
