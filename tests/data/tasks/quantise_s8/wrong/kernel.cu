// The largest magnitude loses its sign.
__global__ void quantise(const float* x, signed char* q, float* scale, int n) {
  x += (long long)blockIdx.x * n;
  q += (long long)blockIdx.x * n;
  float most = 0;
  for (int i = threadIdx.x; i < n; i += 32) most = fmaxf(most, fabsf(x[i]));
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  const float of_row = most > 0 ? most / 127 : 1;
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < n; i += 32)
    q[i] = (signed char)(rintf(x[i] / of_row) == -127 ? 127 : rintf(x[i] / of_row));
  if (threadIdx.x == 0) scale[blockIdx.x] = of_row;
}
