// The rows of the three matrices are longer than what is multiplied; what lies behind in c stays as it is.
struct Layout {
  int row;
  long long matrix;
};

__global__ void batched_gemm(const float* a, const float* b, float* c, int3 sizes, Layout in_a, Layout in_b,
                             Layout in_c) {
  const int m = sizes.x, n = sizes.y, depth = sizes.z;
  __shared__ float part_a[TILE_Y * ROWS][SLICE];
  __shared__ float part_b[SLICE][TILE_X];
  a += blockIdx.z * in_a.matrix;
  b += blockIdx.z * in_b.matrix;
  c += blockIdx.z * in_c.matrix;
  const int x = threadIdx.x, y = threadIdx.y, thread = y * TILE_X + x;
  const int left = blockIdx.x * TILE_X, top = blockIdx.y * TILE_Y * ROWS;
  float sum[ROWS] = {};
  for (int k = 0; k < depth; k += SLICE) {
    for (int i = thread; i < TILE_Y * ROWS * SLICE; i += TILE_X * TILE_Y) {
      const int row = top + i / SLICE, column = k + i % SLICE;
      part_a[i / SLICE][i % SLICE] = row < m && column < depth ? a[row * in_a.row + column] : 0;
    }
    for (int i = thread; i < SLICE * TILE_X; i += TILE_X * TILE_Y) {
      const int row = k + i / TILE_X, column = left + i % TILE_X;
      part_b[i / TILE_X][i % TILE_X] = row < depth && column < n ? b[row * in_b.row + column] : 0;
    }
    __syncthreads();
    for (int i = 0; i < SLICE; ++i)
      for (int r = 0; r < ROWS; ++r) sum[r] += part_a[y + r * TILE_Y][i] * part_b[i][x];
    __syncthreads();
  }
  for (int r = 0; r < ROWS; ++r) {
    const int row = top + y + r * TILE_Y;
    if (row < m && left + x < n) c[row * in_c.row + left + x] = sum[r];
  }
}

__global__ void gemm_naive(const float* a, const float* b, float* c, int3 sizes, Layout in_a, Layout in_b,
                           Layout in_c) {
  for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < sizes.x; row += gridDim.y * blockDim.y)
    for (int column = blockIdx.x * blockDim.x + threadIdx.x; column < sizes.y; column += gridDim.x * blockDim.x) {
      double sum = 0;
      for (int i = 0; i < sizes.z; ++i)
        sum += (double)a[blockIdx.z * in_a.matrix + row * in_a.row + i] *
               b[blockIdx.z * in_b.matrix + i * in_b.row + column];
      c[blockIdx.z * in_c.matrix + row * in_c.row + column] = (float)sum;
    }
}
