extern "C" __global__ void gather(const float* __restrict__ table, const long long* __restrict__ tokens,
                                  float* __restrict__ rows, long long count, int d) {
  const long long t = (long long)blockIdx.x * ${tokens_per_block} + threadIdx.y;
  if (t >= count) return;
  const float* from = table + tokens[t] * d;
  float* to = rows + t * d;
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < d; i += ${lanes}) to[i] = from[i];
}
