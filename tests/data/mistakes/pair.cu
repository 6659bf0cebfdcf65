extern "C" __global__ void pair(float* y, const float* x, float factor, int n) {
  __shared__ float tile[threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] = factor * (x[i] + tile[threadIdx.x ^ 32]);
}

extern "C" __global__ void pair_plain(float* y, const float* x, float factor, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = factor * (x[i] + ((i ^ 32) < n ? x[i ^ 32] : 0));
}
