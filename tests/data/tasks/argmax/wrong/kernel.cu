extern "C" __global__ void argmax(const float* x, int* index, float* largest, int n, int m) {
  const int r = blockIdx.x * ${threads} + threadIdx.x;
  if (r >= n) return;
  float value = 0;
  int at = 0;
  for (int i = 0; i < m; ++i)
    if (x[(size_t)r * m + i] > value) {
      value = x[(size_t)r * m + i];
      at = i;
    }
  index[r] = at;
  largest[r] = value;
}
