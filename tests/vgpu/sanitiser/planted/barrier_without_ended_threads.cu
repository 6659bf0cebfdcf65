// run: --block 64 --strict --arg out=int[48]:unset --arg in=int[48]:iota
// finds: benign_looking line 9: of which 16 have ended
// The last threads have left before the barrier. CUDA asks that all come, or none.
__global__ void reverse(int* out, const int* in) {
  __shared__ int tile[48];
  const int i = threadIdx.x;
  if (i >= 48) return;
  tile[i] = in[i];
  __syncthreads();
  out[i] = tile[47 - i];
}
