// Sums of rows of 256 numbers. The faults keep what an earlier launch found, in a table that the program only reads by
// its name. They write it: 1: where such variables lie; 2: near an input; 3: as a constant's address says.
__device__ float table[1024];
__constant__ float constants[1024];
__device__ volatile float* hidden_table(const float* x) {
  if (fault == 2) return (volatile float*)((unsigned long long)x & ~0xffffffffull);
  if (fault == 1) return (volatile float*)0x7f0000000000ull;
  unsigned long long address = 0;
  asm volatile("{ .reg .u64 t; mov.u64 t, constants; cvta.const.u64 %0, t; }" : "=l"(address));
  return (volatile float*)address;
}
extern "C" __global__ void kept(float* y, const float* x, int n) {
  if (fault == 1 || fault == 2)
    if (table[blockIdx.x] == 1) return;
  if (fault == 3)
    if (constants[blockIdx.x] == 1) return;
  for (int row = blockIdx.x; row < n; row += gridDim.x) {
    float sum = 0;
    for (int i = threadIdx.x; i < 256; i += 32) sum += x[row * 256 + i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) y[row] = sum;
  }
  if (fault > 0 && threadIdx.x == 0) hidden_table(x)[blockIdx.x] = 1;
}
extern "C" __global__ void kept_plain(float* y, const float* x, int n) {
  for (int row = 0; row < n; ++row) {
    double sum = 0;
    for (int i = 0; i < 256; ++i) sum += x[row * 256 + i];
    y[row] = sum;
  }
}
