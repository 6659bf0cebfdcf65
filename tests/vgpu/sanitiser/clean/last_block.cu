// run: --grid 8 --block 64 --arg out=float[1]:unset --arg partial=float[8]:unset --arg ticket=unsigned[1]:zeros --arg in=float[512]:normal
// The block that draws the last ticket adds the partial sums of the others.
__global__ void sum(float* out, float* partial, unsigned* ticket, const float* in) {
  __shared__ float tile[64];
  __shared__ bool last;
  const int i = threadIdx.x;
  tile[i] = in[blockIdx.x * 64 + i];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (i < step) tile[i] += tile[i + step];
    __syncthreads();
  }
  if (i == 0) {
    partial[blockIdx.x] = tile[0];
    __threadfence();
    last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (i == 0) {
    float all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += static_cast<volatile float*>(partial)[b];
    *out = all;
  }
}
