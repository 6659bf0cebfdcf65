#include <cuda_fp16.h>
#ifndef SUM
#define SUM float
#endif
__global__ void product(half* c, const half* a, const half* b, int n, int k) {
  const int row = blockIdx.x, col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= n) return;
  SUM sum = 0;
  for (int i = 0; i < k; ++i) sum = (SUM)((float)sum + (float)a[row * k + i] * (float)b[i * n + col]);
  c[row * n + col] = (half)sum;
}
__global__ void product_plain(half* c, const half* a, const half* b, int n, int k) {
  const int row = blockIdx.x, col = threadIdx.x;
  double sum = 0;
  for (int i = 0; i < k; ++i) sum += (double)(float)a[row * k + i] * (double)(float)b[i * n + col];
  c[row * n + col] = (half)sum;
}
