// run: --block 64 --strict --arg out=float[40]:unset --arg in=float[40]:iota
// Threads beyond the end add up what nobody has written, and keep it in shared memory. Nobody reads it.
__global__ void twice(float* out, const float* in) {
  __shared__ float tile[64], sums[64];
  const int i = threadIdx.x;
  if (i < 40) tile[i] = in[i];
  __syncthreads();
  sums[i] = tile[i] * 2 + 1;
  __syncthreads();
  if (i < 40) out[i] = sums[39 - i];
}
