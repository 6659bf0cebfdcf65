extern "C" __global__ void axpy(size_t n, float alpha, const float* x, float* y) {
  const size_t stride = (size_t)gridDim.x * ${threads * elements};
  for (size_t first = ((size_t)blockIdx.x * ${threads} + threadIdx.x) * ${elements}; first < n; first += stride) {
#pragma unroll
    for (int e = 0; e < ${elements}; ++e)
//% if loads == 'ldg'
      if (first + e < n) y[first + e] = alpha * __ldg(x + first + e) + y[first + e];
//% else
      if (first + e < n) y[first + e] = alpha * x[first + e] + y[first + e];
//% end
  }
}
