// run: --block 32 --arg out=int[32]:unset --arg in=int[32]:iota
// finds: uninitialised line 8: thread (31, 0, 0): ld.shared.u32: reads 4 bytes
// The unwritten slot after the last value goes into the sums.
__global__ void sums(int* out, const int* in) {
  __shared__ int tile[33];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  const int next = tile[threadIdx.x + 1];
  const int twice = next * 2 + 1;
  out[threadIdx.x] = max(twice, in[threadIdx.x]);
}
