// run: --grid 4 --block 256 --arg out=float[4]:unset --arg in=float[1024]:normal
// Sums of 256, by shared memory and then by shuffles.
__global__ void reduce(float* out, const float* in) {
  __shared__ float tile[256];
  const int i = threadIdx.x;
  tile[i] = in[blockIdx.x * 256 + i];
  __syncthreads();
  for (int step = 128; step >= 32; step /= 2) {
    if (i < step) tile[i] += tile[i + step];
    __syncthreads();
  }
  if (i < 32) {
    float sum = tile[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (i == 0) out[blockIdx.x] = sum;
  }
}
