extern "C" __global__ void batched_gemm(const float* a, const float* b, float* c, int n, int k, int lda, int ldb,
                                        int ldc, long long stride_a, long long stride_b, long long stride_c) {
  const int column = blockIdx.x * ${threads} + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i)
    sum += a[blockIdx.z * stride_a + row * lda + i] * b[blockIdx.z * stride_b + i * ldb + column];
  c[blockIdx.z * stride_c + row * ldc + column] = sum;
}
