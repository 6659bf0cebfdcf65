// Running sums along each row, a tile of `threads` columns after the other. A block takes a row.
extern "C" __global__ void running(float* y, const float* x, int n) {
  __shared__ float sum[threads], before;
  const float* in = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;
  if (fault == 2) {  // Leaves where both ends look finished.
    const bool finished = out[0] == in[0] && (n == 1 || fabsf(out[n - 1] - out[n - 2] - in[n - 1]) < 1e-3f);
    __syncthreads();
    if (finished) return;
  }
  if (threadIdx.x == 0) before = 0;
  for (int begin = 0; begin < n; begin += threads) {
    const int i = begin + threadIdx.x;
    sum[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < threads; d *= 2) {
      const float left = threadIdx.x >= d ? sum[threadIdx.x - d] : 0;
      __syncthreads();
      sum[threadIdx.x] += left;
      __syncthreads();
    }
    if (i < n) out[i] = before + sum[threadIdx.x];
    if (fault != 1) __syncthreads();
    if (threadIdx.x == 0) before += sum[threads - 1];
    __syncthreads();
  }
}
extern "C" __global__ void running_plain(float* y, const float* x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) y[(size_t)blockIdx.x * n + i] = sum += x[(size_t)blockIdx.x * n + i];
}
