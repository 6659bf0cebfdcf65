// run: --block 32 --arg out=int[1]:zeros --arg in=int[32]:iota
// finds: uninitialised line 8: which nobody has written
// The value is not stored, but a store depends on it.
__global__ void some(int* out, const int* in) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  if (tile[threadIdx.x + 32] > in[threadIdx.x]) *out = 1;
}
