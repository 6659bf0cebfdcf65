#ifndef COMPENSATED
#define COMPENSATED 0
#endif
__global__ void row_sum(float* y, const float* x, int m) {
  float sum = 0, lost = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float add = COMPENSATED ? __fsub_rn(x[blockIdx.x * m + i], lost) : x[blockIdx.x * m + i];
    const float next = __fadd_rn(sum, add);
    lost = __fsub_rn(__fsub_rn(next, sum), add);
    sum = next;
  }
  double all = COMPENSATED ? (double)sum - lost : sum;
  for (int d = 16; d > 0; d >>= 1) all += __shfl_xor_sync(~0u, all, d);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
__global__ void row_sum_plain(float* y, const float* x, int m) {
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += x[blockIdx.x * m + i];
  y[blockIdx.x] = (float)sum;
}
