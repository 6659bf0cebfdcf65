__device__ float warp_sum(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                                     float* rstd, int m) {
  const float* row = x + (size_t)blockIdx.x * m;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += ${threads}) sum += row[i];
  const float mu = warp_sum(sum) / m;
  for (int i = threadIdx.x; i < m; i += ${threads}) squares += (row[i] - mu) * (row[i] - mu);
  const float variance = warp_sum(squares) / m;
  const float r = variance > 0 ? rsqrtf(variance) : 0;
  for (int i = threadIdx.x; i < m; i += ${threads})
    y[(size_t)blockIdx.x * m + i] = (row[i] - mu) * r * gamma[i] + beta[i];
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = mu;
    rstd[blockIdx.x] = r;
  }
}
