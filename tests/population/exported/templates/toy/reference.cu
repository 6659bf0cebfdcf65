//% include "include/decode.cuh"

extern "C" __global__ void toy_reference(const unsigned char* x, const float* x_scale, float* y, int count) {
  const int row = blockIdx.x;
  const int i = row * ${N} + threadIdx.x;
  double sum = 0;
  for (int n = 0; n < ${N}; ++n) sum += decode(x[row * ${N} + n]) * x_scale[row];
  if (i < count) y[i] = (float)(decode(x[i]) * x_scale[row] + sum);
}
