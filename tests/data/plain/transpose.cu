// Transposes through a tile in shared memory, whose columns fall into one bank.
// evo: launch transpose<<<dim3(ceil_div(N, TILE), ceil_div(M, TILE)), dim3(TILE, TILE)>>>(y=out float[N,M], x=float[M,N], M, N)
// evo: size M=70,N=50
constexpr int TILE = 16;

__global__ void transpose(float* y, const float* x, int m, int n) {
  __shared__ float tile[TILE][TILE];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  if (column < n && row < m) tile[threadIdx.y][threadIdx.x] = x[row * n + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  if (column < m && row < n) y[row * m + column] = tile[threadIdx.x][threadIdx.y];
}
