// run: --grid 4 --block 32 --arg out=float[1]:unset --arg partial=float[4]:unset --arg ticket=int[1]:zeros --arg in=float[128]:iota
// finds: race line 15: in line 8 (a write): nothing orders them
// The ticket is taken without a fence that makes the partial sum visible first.
__global__ void sum(float* out, float* partial, int* ticket, const float* in) {
  float mine = in[blockIdx.x * 32 + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
  __shared__ bool last;
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1) == 3;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < 4; ++i) all += static_cast<volatile float*>(partial)[i];
    *out = all;
  }
}
