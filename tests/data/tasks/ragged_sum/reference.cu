extern "C" __global__ void ragged_reference(const float* values, const int* offsets, float* sums) {
  double sum = 0;
  for (int i = offsets[blockIdx.x]; i < offsets[blockIdx.x + 1]; ++i) sum += values[i];
  sums[blockIdx.x] = (float)sum;
}
