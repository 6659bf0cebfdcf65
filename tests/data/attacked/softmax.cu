#ifndef LOWEST
#define LOWEST -INFINITY
#endif
__global__ void softmax(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  float top = LOWEST, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(row[i] - top);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < m; i += 32) y[blockIdx.x * m + i] = sum > 0 ? expf(row[i] - top) / sum : 0.0f;
}
__global__ void softmax_plain(float* y, const float* x, int m) {
  const float* row = x + blockIdx.x * m;
  double top = row[0], sum = 0;
  for (int i = 1; i < m; ++i) top = fmax(top, (double)row[i]);
  for (int i = 0; i < m; ++i) sum += exp((double)row[i] - top);
  for (int i = 0; i < m; ++i) y[blockIdx.x * m + i] = exp((double)row[i] - top) / sum;
}
