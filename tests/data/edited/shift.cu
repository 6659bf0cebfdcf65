// evo: launch shift<<<1, 128>>>(y=out float[N], x=float[N], N)
// evo: size N=32
// evo: size N=96

// The barrier is redundant where one warp has all elements.
__global__ void shift(float* y, const float* x, int n) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  if (t < n) part[t] = x[t];
  __syncwarp();
  __syncthreads();
  if (t < n) y[t] = part[n - 1 - t];
}
