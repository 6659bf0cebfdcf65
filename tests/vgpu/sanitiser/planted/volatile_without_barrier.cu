// run: --block 96 --arg out=int[96]:unset --arg in=int[96]:iota
// finds: race line 10: a race with thread
// Volatile orders nothing: the neighbouring warp may not have written yet.
__global__ void neighbours(int* out, const int* in) {
  __shared__ volatile int tile[96];
  const int i = threadIdx.x;
  tile[i] = -1;
  __syncthreads();
  tile[i] = in[i] * 3;
  out[i] = tile[(i + 32) % 96];
}
