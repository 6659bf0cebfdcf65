// c = a b^T: one thread for each element, in double precision. Products of codes are exact there.

#include "include/reference/e4m3.cuh"

enum class Scaling { tensor, rows, blocks };
constexpr Scaling scaling = Scaling::${scaling};

__device__ double value_of(unsigned char code) {
  return (code & 127) == 127 ? __int_as_float(0x7fffffff) : decode(code);  // NaN, if all bits are set
}

extern "C" __global__ void gemm_fp8_reference(const unsigned char* a, const unsigned char* b, const float* a_scale,
                                              const float* b_scale, float* c, int M, int N, int K) {
  const int column = blockIdx.x * 16 + threadIdx.x;
  const int row = blockIdx.y * 16 + threadIdx.y;
  if (row >= M || column >= N) return;
  const unsigned char* a_row = a + (long long)row * K;
  const unsigned char* b_row = b + (long long)column * K;
  const int depth = scaling == Scaling::blocks ? 128 : K;  // whose codes share their scales
  const int blocks = (K + depth - 1) / depth;
  const int a_scale_row = scaling == Scaling::tensor ? 0 : row;
  const int b_scale_row = scaling == Scaling::tensor ? 0 : scaling == Scaling::rows ? column : column / 128;
  double sum = 0;
  for (int block = 0; block < blocks; ++block) {
    const int end = min((block + 1) * depth, K);
    double dot = 0;
    for (int k = block * depth; k < end; ++k) dot += value_of(a_row[k]) * value_of(b_row[k]);
    sum += dot * a_scale[(long long)a_scale_row * blocks + block] * b_scale[(long long)b_scale_row * blocks + block];
  }
  c[(long long)row * N + column] = (float)sum;
}
