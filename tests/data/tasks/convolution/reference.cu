extern "C" __global__ void convolution_naive(float* output, const float* input, const float* filter, int h, int w) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= w) return;
  double sum = 0;
  for (int i = 0; i < 17; i++)
    for (int j = 0; j < 17; j++) sum += (double)input[(y + i) * (w + 16) + x + j] * filter[i * 17 + j];
  output[y * w + x] = (float)sum;
}
