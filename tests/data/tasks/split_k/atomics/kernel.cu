extern "C" __global__ void split_k(const float* x, const float* w, float* y, int k, int n) {
  const int column = blockIdx.x * ${threads} + threadIdx.x;
  if (column >= n) return;
  const int length = (k + ${slices} - 1) / ${slices};
  const int begin = blockIdx.y * length, end = min(begin + length, k);
  float sum = 0;
#pragma unroll ${unroll}
  for (int i = begin; i < end; ++i) sum += x[i] * w[(size_t)i * n + column];
  if (begin < end) atomicAdd(y + column, sum);
}
