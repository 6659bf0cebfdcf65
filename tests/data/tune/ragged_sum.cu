__global__ void ragged_sum(const float* values, const int* offsets, float* sums, int segments) {
  const int thread = blockIdx.x * 32 * WARPS + threadIdx.x;
  const int segment = thread / LANES, lane = thread % LANES;
  const int begin = segment < segments ? offsets[segment] : 0;
  const int end = segment < segments ? offsets[segment + 1] : 0;
  float part[UNROLL] = {};
  for (int first = begin + lane; first < end; first += LANES * UNROLL)
    for (int u = 0; u < UNROLL; ++u)
      if (first + u * LANES < end) part[u] += values[first + u * LANES];
  float sum = 0;
  for (int u = 0; u < UNROLL; ++u) sum += part[u];
  for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0 && segment < segments) sums[segment] = sum;
}

__global__ void ragged_sum_naive(const float* values, const int* offsets, float* sums, int segments) {
  for (int s = blockIdx.x * blockDim.x + threadIdx.x; s < segments; s += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int i = offsets[s]; i < offsets[s + 1]; ++i) sum += values[i];
    sums[s] = (float)sum;
  }
}
