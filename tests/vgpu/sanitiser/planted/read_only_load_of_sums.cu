// run: --block 64 --arg y=int[64]:unset --arg x=int[64]:zeros
// finds: stale_read line 7: global.add
// The block adds atomically and reads the sums behind its barrier, but through the read-only cache.
__global__ void count(int* y, int* x) {
  atomicAdd(x + threadIdx.x / 2, 1);
  __syncthreads();
  y[threadIdx.x] = __ldg(x + threadIdx.x / 4);
}
