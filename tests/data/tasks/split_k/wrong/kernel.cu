extern "C" __global__ void split_k(const float* x, const float* w, float* y, int k, int n) {
  const int column = blockIdx.x * 64 + threadIdx.x;
  if (column >= n) return;
  const int length = k / ${slices};
  float sum = 0;
  for (int i = blockIdx.y * length; i < (blockIdx.y + 1) * length; ++i) sum += x[i] * w[(size_t)i * n + column];
  atomicAdd(y + column, sum);
}
