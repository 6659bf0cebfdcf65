// A convolution of one axis with a filter of nine weights.
// evo: launch convolution<<<ceil_div(N, 128), 128>>>(y=out float[N], x=float[N], weights=float[9], N)
// evo: size N=3001
const int kWidth = 9;

__global__ void convolution(float* y, const float* x, const float* weights, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < kWidth; ++k) {
    const int at = i + k - kWidth / 2;
    if (at >= 0 && at < n) sum += weights[k] * x[at];
  }
  y[i] = sum;
}
