extern "C" __global__ void ragged_sum(const float* values, const int* offsets, float* sums, int segments) {
  constexpr int lanes = ${lanes}, unroll = ${unroll};
  const int thread = blockIdx.x * ${32 * warps} + threadIdx.x;
  const int segment = thread / lanes, lane = thread % lanes;
  const int begin = segment < segments ? offsets[segment] : 0;
  const int end = segment < segments ? offsets[segment + 1] : 0;
  float part[unroll] = {};
  for (int first = begin + lane; first < end; first += lanes * unroll)
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (first + u * lanes < end) part[u] += values[first + u * lanes];
  float sum = 0;
#pragma unroll
  for (int u = 0; u < unroll; ++u) sum += part[u];
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (lane == 0 && segment < segments) sums[segment] = sum;
}
