__global__ void axpy(size_t n, float alpha, const float* __restrict__ x, float* __restrict__ y) {
  const size_t stride = (size_t)gridDim.x * block_size_x * ELEMENTS;
  for (size_t first = ((size_t)blockIdx.x * block_size_x + threadIdx.x) * ELEMENTS; first < n; first += stride)
    for (int e = 0; e < ELEMENTS; ++e)
      if (first + e < n) y[first + e] = alpha * x[first + e] + y[first + e];
}

__global__ void axpy_naive(size_t n, float alpha, const float* x, float* y) {
  const size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = (float)((double)alpha * x[i] + y[i]);
}
