// Layer normalisation: a warp for each row.
// evo: launch layer_norm<<<ceil_div(M, 4), dim3(32, 4)>>>(y=out float[M,N], x=float[M,N], M, N)
// evo: size M=30,N=100
__global__ void layer_norm(float* y, const float* x, int m, int n) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= m) return;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += x[row * n + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  const float mean = sum / n;
  for (int i = threadIdx.x; i < n; i += 32) squares += (x[row * n + i] - mean) * (x[row * n + i] - mean);
  for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(0xffffffff, squares, step);
  const float scale = rsqrtf(squares / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 32) y[row * n + i] = (x[row * n + i] - mean) * scale;
}
