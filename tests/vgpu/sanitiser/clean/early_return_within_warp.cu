// run: --block 64 --arg out=int[64]:unset --arg in=int[64]:iota --arg int:50
// Some threads of the last warp end before the barrier: ended threads count as arrived.
__global__ void reverse(int* out, const int* in, int n) {
  __shared__ int tile[64];
  const int i = threadIdx.x;
  if (i >= n) return;
  tile[i] = in[i];
  __syncthreads();
  out[i] = tile[n - 1 - i];
}
