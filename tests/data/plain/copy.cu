// Copies a vector, with tails.
// evo: launch copy<<<ceil_div(N, 256), 256>>>(y=out float[N], x=float[N], N)
// evo: size N=4099
__global__ void copy(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
