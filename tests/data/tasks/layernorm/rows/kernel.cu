__device__ float block_sum(float value, float* shared) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
//% if threads > 32
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
#pragma unroll
  for (int warp = 0; warp < ${threads / 32}; ++warp) value += shared[warp];
//% end
  return value;
}

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                                     float* rstd, int m, float epsilon) {
  __shared__ float shared[${max(threads / 32, 1)}];
  const float* row = x + (size_t)blockIdx.x * m;
  float sum = 0, squares = 0;
//% if variance == 'shifted'
  const float shift = row[0];
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < m; i += ${threads}) {
    const float value = row[i] - shift;
    sum += value;
    squares += value * value;
  }
  const float difference = block_sum(sum, shared) / m;
  const float mu = shift + difference;
  const float variance = fmaxf(block_sum(squares, shared) / m - difference * difference, 0.0f);
//% else
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < m; i += ${threads}) sum += row[i];
  const float mu = block_sum(sum, shared) / m;
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < m; i += ${threads}) squares += (row[i] - mu) * (row[i] - mu);
  const float variance = block_sum(squares, shared) / m;
//% end
  const float r = rsqrtf(variance + epsilon);
#pragma unroll ${unroll}
  for (int i = threadIdx.x; i < m; i += ${threads})
    y[(size_t)blockIdx.x * m + i] = (row[i] - mu) * r * gamma[i] + beta[i];
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = mu;
    rstd[blockIdx.x] = r;
  }
}
