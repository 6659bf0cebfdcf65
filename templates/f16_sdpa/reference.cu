// o = softmax(scale q k^T) v for one query row and head: one block of D threads, everything in double precision on
// the exactly decoded values. With a causal mask row i attends to keys 0 to i.

#include "include/reference/elements.cuh"

//% let gathered_weight = 'score[i]'
#include "include/reference/attention.cuh"

extern "C" __global__ void f16_sdpa_reference(const Element* q, const Element* k, const Element* v, float* o,
                                              float scale, int S) {
  constexpr int D = ${D};
  const long long head_start = (long long)blockIdx.y * S * D;
  const long long row_start = head_start + (long long)blockIdx.x * D;
  constexpr bool causal = ${mask == 'causal'};
  const int keys = causal ? blockIdx.x + 1 : S;
  const Element* column = v + head_start + threadIdx.x;
  const double result = attention<D>(q + row_start, k + head_start, column, D, keys, scale);
  o[row_start + threadIdx.x] = (float)result;
}
