extern "C" __global__ void scale_reference(const float* x, const float* a, float* y) {
  y[blockIdx.x * ${M} + threadIdx.x] = x[blockIdx.x * ${M} + threadIdx.x] * a[blockIdx.x];
}
