// run: --block 32 --arg out=int[32]:unset
// finds: race line 13: a race with thread
// Each half of the warp votes for itself: the upper half may not have read when lane 0 writes.
__global__ void swap(int* out) {
  __shared__ int slot;
  if (threadIdx.x == 0) slot = 5;
  __syncwarp();
  const int seen = slot;
  const unsigned half = threadIdx.x < 16 ? 0x0000ffff : 0xffff0000;
  const unsigned votes = __ballot_sync(half, seen > 3);
  __shared__ int written;
  if (threadIdx.x == 0) written = 1;
  if (threadIdx.x == 0) slot = votes;
  out[threadIdx.x] = seen + votes;
}
