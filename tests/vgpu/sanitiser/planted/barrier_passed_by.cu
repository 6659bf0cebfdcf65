// run: --block 64 --arg out=float[64]:unset
// finds: divergent_barrier line 7: lanes 0x0000ffff of the warp are here without 0xffff0000
// Half of each warp skips the barrier.
__global__ void half(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (threadIdx.x % 32 < 16) __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
