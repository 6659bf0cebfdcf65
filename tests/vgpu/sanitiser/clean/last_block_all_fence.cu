// run: --grid 4 --block 64 --arg out=float[64]:unset --arg partial=float[256]:unset --arg ticket=unsigned[1]:zeros --arg in=float[256]:normal
// Every thread fences its own part; the ticket is drawn after a barrier.
__global__ void sum(float* out, float* partial, unsigned* ticket, const float* in) {
  __shared__ bool last;
  const int i = threadIdx.x;
  partial[blockIdx.x * 64 + i] = in[blockIdx.x * 64 + i] * 2;
  __threadfence();
  __syncthreads();
  if (i == 0) last = atomicAdd(ticket, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  float all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b * 64 + i];
  out[i] = all;
}
