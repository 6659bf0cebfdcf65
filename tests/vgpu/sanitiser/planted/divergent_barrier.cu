// run: --block 64 --arg out=float[64]:unset
// finds: divergent_barrier line 7: 
// Half of each warp meets the other half at a barrier that wants whole warps.
__global__ void half(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (threadIdx.x % 2 == 0) __syncthreads();
  else __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
