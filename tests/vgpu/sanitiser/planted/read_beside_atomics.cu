// run: --block 64 --arg out=int[64]:unset
// finds: race line 9: ld.shared.u32 in line 8 (a read)
// One thread looks at the counter while others still count.
__global__ void count(int* out) {
  __shared__ int count;
  count = 0;
  __syncthreads();
  if (threadIdx.x == 0) out[63] = count;
  atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x < 63) out[threadIdx.x] = count;
}
