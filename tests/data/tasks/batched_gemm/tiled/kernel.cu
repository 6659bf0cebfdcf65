struct Sizes {
  int m, n, k;
};
struct Layout {
  int row;
  long long matrix;
};

extern "C" __global__ void batched_gemm(const float* a, const float* b, float* c, Sizes sizes, Layout in_a,
                                        Layout in_b, Layout in_c) {
  constexpr int tile_x = ${tile_x}, tile_y = ${tile_y}, rows = ${rows}, slice = ${slice};
  __shared__ float part_a[tile_y * rows][slice];
  __shared__ float part_b[slice][tile_x];
  a += blockIdx.z * in_a.matrix;
  b += blockIdx.z * in_b.matrix;
  c += blockIdx.z * in_c.matrix;
  const int x = threadIdx.x, y = threadIdx.y, thread = y * tile_x + x;
  const int left = blockIdx.x * tile_x, top = blockIdx.y * tile_y * rows;
  float sum[rows] = {};
  for (int k = 0; k < sizes.k; k += slice) {
    for (int i = thread; i < tile_y * rows * slice; i += tile_x * tile_y) {
      const int row = top + i / slice, column = k + i % slice;
      part_a[i / slice][i % slice] = row < sizes.m && column < sizes.k ? a[row * in_a.row + column] : 0;
    }
    for (int i = thread; i < slice * tile_x; i += tile_x * tile_y) {
      const int row = k + i / tile_x, column = left + i % tile_x;
      part_b[i / tile_x][i % tile_x] = row < sizes.k && column < sizes.n ? b[row * in_b.row + column] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < slice; ++i)
#pragma unroll
      for (int r = 0; r < rows; ++r) sum[r] += part_a[y + r * tile_y][i] * part_b[i][x];
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int row = top + y + r * tile_y;
    if (row < sizes.m && left + x < sizes.n) c[row * in_c.row + left + x] = sum[r];
  }
}
