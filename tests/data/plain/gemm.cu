// A product of matrices in tiles.
// evo: launch gemm<<<dim3(ceil_div(N, TILE), ceil_div(M, TILE)), dim3(TILE, TILE)>>>(c=out float[M,N], a=float[M,K], b=float[K,N], M, N, K)
// evo: size M=33,N=40,K=50
#define TILE 16

__global__ void gemm(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
  const int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  float sum = 0;
  for (int first = 0; first < k; first += TILE) {
    const int ka = first + threadIdx.x, kb = first + threadIdx.y;
    of_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0;
    of_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
