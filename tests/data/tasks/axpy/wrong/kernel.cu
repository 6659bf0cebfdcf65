extern "C" __global__ void axpy(size_t n, float alpha, const float* x, float* y) {
  const size_t i = (size_t)blockIdx.x * ${threads} + threadIdx.x;
  if (i < n) y[i] = alpha * x[i];
}
