// Five points of a plane.
// evo: launch stencil<<<dim3(ceil_div(N, 16), ceil_div(M, 16)), dim3(16, 16)>>>(y=out float[M,N], x=float[M,N], M, N)
// evo: size M=50,N=70
__global__ void stencil(float* y, const float* x, int m, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= n || row >= m) return;
  float sum = x[row * n + column];
  if (column > 0) sum += x[row * n + column - 1];
  if (column + 1 < n) sum += x[row * n + column + 1];
  if (row > 0) sum += x[(row - 1) * n + column];
  if (row + 1 < m) sum += x[(row + 1) * n + column];
  y[row * n + column] = 0.2f * sum;
}
