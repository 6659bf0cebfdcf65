#define block_size_x ${block_size_x}
#define block_size_y ${block_size_y}
#define tile_size_x ${tile_size_x}
#define tile_size_y ${tile_size_y}
#define filter_size 17
#define border (filter_size - 1)

extern "C" __global__ void convolution_kernel(float* output, const float* input, const float* filter, int h, int w) {
  __shared__ float tile[block_size_y * tile_size_y + border][block_size_x * tile_size_x + border];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int bx = blockIdx.x * block_size_x * tile_size_x, by = blockIdx.y * block_size_y * tile_size_y;

  for (int i = ty; i < block_size_y * tile_size_y + border; i += block_size_y)
    for (int j = tx; j < block_size_x * tile_size_x + border; j += block_size_x)
      if (by + i < h + border && bx + j < w + border) tile[i][j] = input[(by + i) * (w + border) + bx + j];
  __syncthreads();

  float sum[tile_size_y][tile_size_x] = {};
  for (int i = 0; i < filter_size; i++)
    for (int j = 0; j < filter_size; j++) {
      const float weight = filter[i * filter_size + j];
#pragma unroll
      for (int yi = 0; yi < tile_size_y; yi++)
#pragma unroll
        for (int xi = 0; xi < tile_size_x; xi++) {
          const int y = ty + yi * block_size_y, x = tx + xi * block_size_x;
          if (by + y < h && bx + x < w) sum[yi][xi] += tile[y + i][x + j] * weight;
        }
    }

#pragma unroll
  for (int yi = 0; yi < tile_size_y; yi++)
#pragma unroll
    for (int xi = 0; xi < tile_size_x; xi++) {
      const int y = by + ty + yi * block_size_y, x = bx + tx + xi * block_size_x;
      if (y < h && x < w) output[y * w + x] = sum[yi][xi];
    }
}
