// Each element's share of the sum of magnitudes. The blocks add into `sum`, then wait for the whole grid.
#include <cooperative_groups.h>
extern "C" __global__ void shares(float* y, float* sum, const float* x, int n) {
  float mine = 0;
  for (int i = blockIdx.x * block_size + threadIdx.x; i < n; i += gridDim.x * block_size) mine += fabsf(x[i]);
  for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(~0u, mine, d);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
  if (fault != 1) cooperative_groups::this_grid().sync();
  const float all = *(volatile float*)sum;
  for (int i = blockIdx.x * block_size + threadIdx.x; i < n; i += gridDim.x * block_size) y[i] = x[i] / all;
}
extern "C" __global__ void shares_plain(float* y, float* sum, const float* x, int n) {
  double all = 0;
  for (int i = 0; i < n; ++i) all += fabsf(x[i]);
  for (int i = 0; i < n; ++i) y[i] = x[i] / all;
  *sum = all;
}
