// run: --block 64 --arg out=float[64]:unset --arg in=float[40]:iota
// finds: uninitialised line 11: of 'sums'
// Threads beyond the end add up what nobody has written, and one of these sums decides.
__global__ void twice(float* out, const float* in) {
  __shared__ float tile[64], sums[64];
  const int i = threadIdx.x;
  if (i < 40) tile[i] = in[i];
  __syncthreads();
  sums[i] = tile[i] * 2 + 1;
  __syncthreads();
  out[i] = sums[63 - i] > 20 ? 1.0f : 0.0f;
}
