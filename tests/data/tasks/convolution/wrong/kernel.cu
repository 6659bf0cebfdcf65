extern "C" __global__ void convolution_kernel(float* output, const float* input, const float* filter, int h, int w) {
  const int x = blockIdx.x * ${threads} + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= w) return;
  float sum = 0;
  for (int i = 0; i < 17; i++)
    for (int j = 0; j < 17; j++) sum += input[(y + i) * (w + 16) + x + j] * filter[j * 17 + i];
  output[y * w + x] = sum;
}
