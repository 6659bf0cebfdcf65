// c = a W: one thread for each element, in double precision. Products within a group are exact there.

//% let dtype = 'bf16'
#include "include/reference/elements.cuh"

__device__ double scale_value(unsigned short element) {
//% if scale_type == 'f16'
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
  return value;
//% else
  return decode(element);
//% end
}

// The four bits at place `place` of words of eight.
__device__ int code_at(const unsigned int* word, int place) { return *word >> 4 * place & 15; }

extern "C" __global__ void w4a16_reference(const unsigned short* a, const unsigned int* w, const unsigned short* scale,
                                           const unsigned int* zero_point, float* c, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x;
  const int row = blockIdx.y * 4 + threadIdx.y;
  if (row >= M || column >= N) return;
  const unsigned short* a_row = a + (long long)row * K;
  double sum = 0;
  for (int group = 0; group < K / 128; ++group) {
    const int zero = code_at(zero_point + (long long)group * (N / 8) + column / 8, column % 8) + ${zero_offset};
    double dot = 0;
    for (int k = group * 128; k < group * 128 + 128; ++k) {
      const double weight = code_at(w + (long long)(k / 8) * N + column, k % 8) - zero;
      dot += decode(a_row[k]) * weight;
    }
    sum += dot * scale_value(scale[(long long)group * N + column]);
  }
  c[(long long)row * N + column] = (float)sum;
}
