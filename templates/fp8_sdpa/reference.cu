// o = softmax(q k^T / sqrt(D)) v for one query row and head: one block of D threads, everything in double
// precision on the exactly decoded codes.

#include "include/reference/e4m3.cuh"

//% let gathered_weight = 'score[i]'
#include "include/reference/attention.cuh"

extern "C" __global__ void fp8_sdpa_reference(const unsigned char* q, const unsigned char* k,
                                              const unsigned char* v, const float* q_scale,
                                              const float* k_scale, const float* v_scale, float* o, int S) {
#include "fp8_sdpa/reference_row.cuh"
  const double result = attention<D>(q + row_start, k + head_start, column, next_value, keys, scale);
  o[row_start + threadIdx.x] = (float)(result * (double)v_scale[group]);
}
