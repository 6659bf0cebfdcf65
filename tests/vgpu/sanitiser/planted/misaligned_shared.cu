// run: --block 2 --arg out=int2[2]:unset --arg at=int[2]:iota
// finds: bad_access line 8: reads 8 bytes at a misaligned address: byte 4 of shared memory
// Loads of pairs from any index.
__global__ void load(int2* out, const int* at) {
  __shared__ int tile[4];
  tile[threadIdx.x] = tile[threadIdx.x + 2] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<const int2*>(tile + at[threadIdx.x]);
}
