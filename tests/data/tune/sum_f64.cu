__global__ void row_sum(size_t n, const double* x, double* sums) {
  __shared__ double parts[block_size_x];
  x += blockIdx.x * n;
  double part[UNROLL] = {};
  for (size_t first = threadIdx.x; first < n; first += block_size_x * UNROLL)
    for (int u = 0; u < UNROLL; ++u)
      if (first + u * block_size_x < n) part[u] += x[first + u * block_size_x];
  double mine = 0;
  for (int u = 0; u < UNROLL; ++u) mine += part[u];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = block_size_x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

// Kahan's sum.
__global__ void row_sum_naive(size_t n, const double* x, double* sums) {
  if (threadIdx.x > 0) return;
  double sum = 0, lost = 0;
  for (size_t i = 0; i < n; ++i) {
    const double term = __dsub_rn(x[blockIdx.x * n + i], lost);
    const double next = __dadd_rn(sum, term);
    lost = __dsub_rn(__dsub_rn(next, sum), term);
    sum = next;
  }
  sums[blockIdx.x] = sum;
}
