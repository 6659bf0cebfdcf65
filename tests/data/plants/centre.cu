// Each row without its mean: a block takes a row, its warps add their parts in shared memory.
extern "C" __global__ void centre(float* y, const float* x, int n) {
  __shared__ float part[32], mean;
  const float* row = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += threads) sum += row[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  if (fault != 1) __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int w = 0; w < threads / 32; ++w) all += part[w];
    mean = all / n;
  }
  if (fault != 2) __syncthreads();
  for (int i = threadIdx.x; i < n; i += threads) y[(size_t)blockIdx.x * n + i] = row[i] - mean;
}
extern "C" __global__ void centre_plain(float* y, const float* x, int n) {
  const float* row = x + (size_t)blockIdx.x * n;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += row[i];
  for (int i = 0; i < n; ++i) y[(size_t)blockIdx.x * n + i] = row[i] - sum / n;
}
