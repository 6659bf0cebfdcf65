extern "C" __global__ void gemm_reference(const float* a, const float* b, float* c, int n, int k, int lda, int ldb,
                                          int ldc, long long stride_a, long long stride_b, long long stride_c) {
  const int row = blockIdx.x;
  for (int column = threadIdx.x; column < n; column += blockDim.x) {
    double sum = 0;
    for (int i = 0; i < k; ++i)
      sum += (double)a[blockIdx.y * stride_a + row * lda + i] * b[blockIdx.y * stride_b + i * ldb + column];
    c[blockIdx.y * stride_c + row * ldc + column] = (float)sum;
  }
}
