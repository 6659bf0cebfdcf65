// o = softmax(q k^T / sqrt(D)) v for one query row and head: one block of D threads, everything in double
// precision on the exactly decoded codes.
//% if mask == 'causal'
// Row i attends to keys 0 to i.
//% end

//% include "include/reference/e4m3.cuh"

//% let gathered_weight = 'score[i]'
//% include "include/reference/attention.cuh"

extern "C" __global__ void fp8_sdpa_reference(const unsigned char* q, const unsigned char* k,
                                              const unsigned char* v, const float* q_scale,
                                              const float* k_scale, const float* v_scale, float* o, int S) {
  constexpr int D = ${D};
  const int head = blockIdx.y;
  const long long head_start = (long long)head * S * D;
  const long long row_start = head_start + (long long)blockIdx.x * D;
//% if mask == 'causal'
  const int keys = blockIdx.x + 1;
//% else
  const int keys = S;
//% end
//% if v_layout == 'transposed'
  // Rows of V^T are padded to a multiple of 16 keys.
  const unsigned char* column = v + ((long long)head * D + threadIdx.x) * ((S + 15) / 16 * 16);
  constexpr long long next_value = 1;
//% else
  const unsigned char* column = v + head_start + threadIdx.x;
  constexpr long long next_value = D;
//% end
//% if scales == 'tensor'
  const int group = 0;
//% else
  const int group = head;
//% end
  const double scale = (double)q_scale[group] * (double)k_scale[group] / sqrt((double)D);
  const double result = attention<D>(q + row_start, k + head_start, column, next_value, keys, scale);
  o[row_start + threadIdx.x] = (float)(result * (double)v_scale[group]);
}
