extern "C" __global__ void scale(const float* x, const float* a, float* y) {
//% for i in 0..vector
  const int column${i} = blockIdx.y * ${columns} + ${i * threads} + threadIdx.x;
  y[blockIdx.x * ${M} + column${i}] = x[blockIdx.x * ${M} + column${i}] * a[blockIdx.x];
//% end
}
