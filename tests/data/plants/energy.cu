// The sum of squares of each row, a thread for each row. fault 1: rows behind the 128th are nobody's; 2: columns behind
// the 32,767th are not added.
extern "C" __global__ void energy(float* y, const float* x, int rows, int n) {
  const int columns = fault == 2 ? min(n, 32767) : n;
  for (int row = blockIdx.x; row < (fault == 1 ? min(rows, 128) : rows); row += gridDim.x) {
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += threads) sum += x[(size_t)row * n + i] * x[(size_t)row * n + i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    __shared__ float part[threads / 32];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < threads / 32; ++w) sum += part[w];
      y[row] = sum;
    }
    __syncthreads();
  }
}
extern "C" __global__ void energy_plain(float* y, const float* x, int rows, int n) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += (double)x[(size_t)row * n + i] * x[(size_t)row * n + i];
    y[row] = sum;
  }
}
