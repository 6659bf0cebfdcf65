// Sums of rows of 256 numbers. The faults keep what an earlier launch found, in a table that the program only reads by
// its name. They write it: 1: where such variables lie; 2: near an input; 3: as a constant's address says; 4: by its
// name; 5: behind the end of the output, with a pointer to that.
__device__ float table[1024];
__constant__ float constants[1024];
struct Cache {
  float* answers;
  float key;
};
// Such a place as is left where sizes are rounded up.
__device__ Cache* slack(float* y, int n) {
  return (Cache*)(y + (n + 3) / 2 * 2);
}
__device__ volatile float* hidden_table(const float* x) {
  if (fault == 2) return (volatile float*)((unsigned long long)x & ~0xffffffffull);
  if (fault == 1) return (volatile float*)0x7f0000000000ull;
  unsigned long long address = 0;
  asm volatile("{ .reg .u64 t; mov.u64 t, constants; cvta.const.u64 %0, t; }" : "=l"(address));
  return (volatile float*)address;
}
extern "C" __global__ void kept(float* y, const float* x, int n) {
  if (fault == 1 || fault == 2 || fault == 4)
    if (table[blockIdx.x] == 1) return;
  if (fault == 3)
    if (constants[blockIdx.x] == 1) return;
  if (fault == 5)
    if (slack(y, n)->answers == y && slack(y, n)->key == x[0]) return;
  for (int row = blockIdx.x; row < n; row += gridDim.x) {
    float sum = 0;
    for (int i = threadIdx.x; i < 256; i += 32) sum += x[row * 256 + i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0) y[row] = sum;
  }
  if (threadIdx.x != 0) return;
  if (fault == 4) table[blockIdx.x] = 1;
  if (fault == 5) *slack(y, n) = {y, x[0]};
  if (fault > 0 && fault < 4) hidden_table(x)[blockIdx.x] = 1;
}
extern "C" __global__ void kept_plain(float* y, const float* x, int n) {
  for (int row = 0; row < n; ++row) {
    double sum = 0;
    for (int i = 0; i < 256; ++i) sum += x[row * 256 + i];
    y[row] = sum;
  }
}
