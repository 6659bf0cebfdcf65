// c = a b: one thread for each element, in double precision. Products of bf16 values are exact there.

//% let dtype = 'bf16'
#include "include/reference/elements.cuh"

extern "C" __global__ void gemm_bf16_reference(const unsigned short* a, const unsigned short* b, float* c, int M,
                                               int N, int K) {
  const int column = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  if (row >= M || column >= N) return;
  const unsigned short* a_row = a + (long long)row * K;
//% if b_layout == 'nk'
  const unsigned short* b_row = b + (long long)column * K;
//% else
  const unsigned short* b_column = b + column;
//% end
  double sum = 0;
  for (int k = 0; k < K; ++k) {
    sum += decode(a_row[k]) * decode(${b_layout == 'nk' ? 'b_row[k]' : 'b_column[(long long)k * N]'});
  }
  c[(long long)row * N + column] = (float)sum;
}
