// Softmax of rows: a thread for each.
// evo: launch softmax<<<ceil_div(M, 128), 128>>>(y=out float[M,N], x=float[M,N], M, N)
// evo: size M=150,N=40
__global__ void softmax(float* y, const float* x, int m, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < n; ++i) largest = fmaxf(largest, x[row * n + i]);
  for (int i = 0; i < n; ++i) sum += expf(x[row * n + i] - largest);
  for (int i = 0; i < n; ++i) y[row * n + i] = expf(x[row * n + i] - largest) / sum;
}
