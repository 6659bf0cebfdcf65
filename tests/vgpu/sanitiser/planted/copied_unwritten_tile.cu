// run: --block 64 --arg out=float[64]:unset --arg in=float[64]:iota
// finds: uninitialised line 9: of 'tile'
// Half of the tile has never been filled, and goes out with the rest.
__global__ void copy(float* out, const float* in) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  if (i < 32) tile[i] = in[i];
  __syncthreads();
  out[i] = tile[i];
}
