// run: --block 32 --arg out=float[32]:unset --arg at=int[32]:iota
// finds: bad_access line 8: reads 4 bytes at byte 128 of shared memory, which has 128 bytes
// One element past the tile.
__global__ void next(float* out, const int* at) {
  __shared__ float tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[at[threadIdx.x] + 1];
}
