extern "C" __global__ void ragged_sum(const float* values, const int* offsets, float* sums, int segments) {
  const int segment = blockIdx.x * ${threads} + threadIdx.x;
  if (segment >= segments) return;
  float sum = 0;
  const int begin = offsets[segment];
  const int length = min(offsets[segment + 1] - begin, 4);
  for (int i = 0; i < length; ++i) sum += values[begin + i];
  sums[segment] = sum;
}
