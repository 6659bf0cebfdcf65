// Kernel Tuner's convolution with its filter in __constant__ memory. With UNIT_GAIN the kernel does not read the gain.
#define filter_width 17
#define filter_height 17
#define border_width (filter_width - 1)
#define border_height (filter_height - 1)

__constant__ float d_filter[filter_height * filter_width];
__constant__ float d_gain;

__global__ void convolution_kernel(float* output, const float* input, int height, int width) {
  __shared__ float sh_input[block_size_y + border_height][block_size_x * tile_size_x + border_width];
  const int ty = threadIdx.y;
  const int tx = threadIdx.x;
  const int by = blockIdx.y * block_size_y;
  const int bx = blockIdx.x * block_size_x * tile_size_x;

  for (int i = ty; i < block_size_y + border_height; i += block_size_y)
    for (int j = tx; j < block_size_x * tile_size_x + border_width; j += block_size_x)
      if (by + i < height + border_height && bx + j < width + border_width)
        sh_input[i][j] = input[(by + i) * (width + border_width) + bx + j];
  __syncthreads();

  float sum[tile_size_x] = {};
  for (int i = 0; i < filter_height; i++)
    for (int j = 0; j < filter_width; j++)
      for (int ti = 0; ti < tile_size_x; ti++)
        if (by + ty < height && bx + tx + ti * block_size_x < width)
          sum[ti] += sh_input[ty + i][tx + j + ti * block_size_x] * d_filter[i * filter_width + j];

  for (int ti = 0; ti < tile_size_x; ti++)
    if (by + ty < height && bx + tx + ti * block_size_x < width)
#if UNIT_GAIN
      output[(by + ty) * width + bx + tx + ti * block_size_x] = sum[ti];
#else
      output[(by + ty) * width + bx + tx + ti * block_size_x] = sum[ti] * d_gain;
#endif
}

__global__ void convolution_naive(float* output, const float* input, int height, int width) {
  for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y)
    for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x) {
      double sum = 0;
      for (int i = 0; i < filter_height; i++)
        for (int j = 0; j < filter_width; j++)
          sum += (double)input[(y + i) * (width + border_width) + x + j] * d_filter[i * filter_width + j];
      output[y * width + x] = (float)sum;
    }
}
