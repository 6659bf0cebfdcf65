__global__ void gather(const float* __restrict__ table, const long long* __restrict__ tokens, float* __restrict__ rows,
                       long long count, int d) {
  const long long t = (long long)blockIdx.x * TOKENS + threadIdx.y;
  if (t >= count) return;
  const float* from = table + tokens[t] * d;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < d; i += LANES) rows[t * d + i] = from[i];
}

__global__ void gather_naive(const float* table, const long long* tokens, float* rows, long long count, int d) {
  for (long long t = blockIdx.x; t < count; t += gridDim.x)
    for (int i = threadIdx.x; i < d; i += blockDim.x) rows[t * d + i] = table[tokens[t] * d + i];
}
