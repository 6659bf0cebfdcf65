// Rows as codes from -7 to 7, to the nearest. fault 1: halves go away from zero; 2: towards zero always.
extern "C" __global__ void codes(signed char* q, float* scale, const float* x, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float most = 0;
  for (int i = threadIdx.x; i < n; i += 32) most = fmaxf(most, fabsf(row[i]));
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
  const float step = most / 7;
  if (threadIdx.x == 0) scale[blockIdx.x] = step;
  for (int i = threadIdx.x; i < n; i += 32) {
    const float v = step > 0 ? row[i] / step : 0;
    q[(size_t)blockIdx.x * n + i] = (signed char)(fault == 1 ? roundf(v) : fault == 2 ? truncf(v) : rintf(v));
  }
}
extern "C" __global__ void codes_plain(signed char* q, float* scale, const float* x, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  float most = 0;
  for (int i = 0; i < n; ++i) most = fmaxf(most, fabsf(row[i]));
  const float step = most / 7;
  scale[blockIdx.x] = step;
  for (int i = 0; i < n; ++i) q[(size_t)blockIdx.x * n + i] = step > 0 ? rint((double)row[i] / step) : 0;
}
