// run: --block 32 --arg out=int[32]:unset
// finds: race line 7: a race with thread
// A shuffle does not order memory accesses; only __syncwarp does.
__global__ void reverse(int* out) {
  __shared__ int tile[32];
  tile[threadIdx.x] = threadIdx.x;
  if (__shfl_sync(0xffffffff, threadIdx.x, 0) == 0) out[threadIdx.x] = tile[31 - threadIdx.x];
}
