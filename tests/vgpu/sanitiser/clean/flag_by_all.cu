// run: --block 128 --arg out=int[1]:zeros --arg in=int[128]:iota
// Many threads set the same flag to the same value.
__global__ void any(int* out, const int* in) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (in[threadIdx.x] > 50) found = 1;
  __syncthreads();
  if (threadIdx.x == 0) *out = found;
}
