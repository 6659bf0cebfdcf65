__global__ void split_k(const float* x, const float* w, float* y, int k, int n) {
  const int column = blockIdx.x * block_size_x + threadIdx.x;
  if (column >= n) return;
  const int length = (k + SLICES - 1) / SLICES;
  const int begin = blockIdx.y * length, end = min(begin + length, k);
  float sum = 0;
#pragma unroll UNROLL
  for (int i = begin; i < end; ++i) sum += x[i] * w[(size_t)i * n + column];
  if (begin < end) atomicAdd(y + column, sum);
}

__global__ void row_times_matrix(const float* x, const float* w, float* y, int k, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= n || blockIdx.y > 0) return;
  double sum = y[column];
  for (int i = 0; i < k; ++i) sum += (double)x[i] * w[(size_t)i * n + column];
  y[column] = (float)sum;
}
