// Forgets the zero point: what is negative becomes 0.
__global__ void quantise(const float* x, unsigned char* q, float* scale, int* zero_point, int n) {
  x += (long long)blockIdx.x * n;
  q += (long long)blockIdx.x * n;
  float low = 0, high = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    low = fminf(low, x[i]);
    high = fmaxf(high, x[i]);
  }
  for (int step = 16; step > 0; step /= 2) {
    low = fminf(low, __shfl_xor_sync(~0u, low, step));
    high = fmaxf(high, __shfl_xor_sync(~0u, high, step));
  }
  const float of_row = high > low ? (high - low) / 255 : 1;
  const int zero = (int)rintf(-low / of_row);
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < n; i += 32)
    q[i] = (unsigned char)(fminf(255, fmaxf(0, rintf(x[i] / of_row))));
  if (threadIdx.x > 0) return;
  scale[blockIdx.x] = of_row;
  zero_point[blockIdx.x] = zero;
}
