// evo: launch waste<<<M, 128>>>(sums=out float[M], x=float[M,N], N)
// evo: size M=8,N=512
// evo: size M=3,N=77

// Sums of rows with what nobody needs: a barrier twice, a load twice, a loop whose sum nobody reads.
__global__ void waste(float* sums, const float* x, int n) {
  __shared__ float part[128];
  __shared__ volatile float spare[128];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += x[blockIdx.x * n + i];
  for (int i = 0; i < 16; ++i) spare[threadIdx.x] = sum * i;
  part[threadIdx.x] = sum;
  __syncthreads();
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
