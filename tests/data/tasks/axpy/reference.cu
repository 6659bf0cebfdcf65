extern "C" __global__ void axpy_reference(size_t n, float alpha, const float* x, float* y) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (float)((double)alpha * x[i] + y[i]);
}
