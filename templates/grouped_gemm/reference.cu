// Rows of a by the weights of their expert: one thread for each element, in double precision. Products of bf16 values
// are exact there.

//% let dtype = 'bf16'
#include "include/reference/elements.cuh"

constexpr bool silu_mul = ${act == 'silu_mul'};

__device__ double product(const unsigned short* row, const unsigned short* weights, int K) {
  double sum = 0;
  for (int k = 0; k < K; ++k) {
    sum += decode(row[k]) * decode(weights[k]);
  }
  return sum;
}

extern "C" __global__ void grouped_gemm_reference(const unsigned short* a, const unsigned short* b, const int* offsets,
                                                  float* c, int E, int T, int N, int K) {
  const int column = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  if (row >= T || column >= N) return;
  int expert = 0;
  while (expert < E - 1 && row >= offsets[expert + 1]) ++expert;
  const unsigned short* a_row = a + (long long)row * K;
  const unsigned short* weights = b + ((long long)expert * (silu_mul ? 2 * N : N) + column) * K;
  double result = product(a_row, weights, K);
  if (silu_mul) result = result / (1 + exp(-result)) * product(a_row, weights + (long long)N * K, K);
  c[(long long)row * N + column] = (float)result;
}
