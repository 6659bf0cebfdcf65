extern "C" __global__ void sum(size_t n, const double* x, double* result, double* partial) {
  __shared__ double parts[${threads}];
  const size_t stride = ${threads * blocks};
  double sums[${unroll}] = {};
  for (size_t first = blockIdx.x * ${threads} + threadIdx.x; first < n; first += stride * ${unroll}) {
//% for u in 0..unroll
    if (first + ${u} * stride < n) sums[${u}] += x[first + ${u} * stride];
//% end
  }
  double mine = 0;
#pragma unroll
  for (int u = 0; u < ${unroll}; ++u) mine += sums[u];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = ${threads / 2}; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
//% if blocks > 1
  if (threadIdx.x == 0) partial[blockIdx.x] = parts[0];
//% else
  if (threadIdx.x == 0) *result = parts[0];
//% end
}
//% if blocks > 1

extern "C" __global__ void add_partial(const double* partial, double* result) {
  double sum = 0;
  for (int i = 0; i < ${blocks}; ++i) sum += partial[i];
  *result = sum;
}
//% end
