// run: --block 64 --arg out=int[32]:unset --arg x=int[64]:integers(0,17)
// finds: bad_access line 9: right behind the end of 'bins'
// Values reach 16, the histogram has 16 bins: the last one is a neighbour's.
__global__ void histogram(int* out, const int* x) {
  __shared__ int bins[16], others[16];
  const int t = threadIdx.x;
  if (t < 16) bins[t] = others[t] = 0;
  __syncthreads();
  atomicAdd(bins + x[t], 1);
  atomicAdd(others + x[t] / 2, 1);
  __syncthreads();
  if (t < 16) out[t] = bins[t], out[16 + t] = others[t];
}
