// c = a b: one thread for each element, in double precision. Products of bf16 values are exact there.

//% let dtype = 'bf16'
#include "include/reference/elements.cuh"

constexpr bool nk = ${b_layout == 'nk'};  // b is [N, K], else [K, N]

extern "C" __global__ void gemm_bf16_reference(const unsigned short* a, const unsigned short* b, float* c, int M,
                                               int N, int K) {
  const int column = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  if (row >= M || column >= N) return;
  const unsigned short* a_row = a + (long long)row * K;
  const unsigned short* b_column = b + (nk ? (long long)column * K : column);
  double sum = 0;
  for (int k = 0; k < K; ++k) {
    sum += decode(a_row[k]) * decode(b_column[nk ? k : (long long)k * N]);
  }
  c[(long long)row * N + column] = (float)sum;
}
