// Sums of rows: a block for each, halved in shared memory.
// evo: launch row_sums<<<M, THREADS>>>(sums=out float[M], x=float[M,N], N)
// evo: size M=8,N=1000
#define THREADS 128

__global__ void row_sums(float* sums, const float* x, int n) {
  __shared__ float part[THREADS];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += THREADS) sum += x[blockIdx.x * n + i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
