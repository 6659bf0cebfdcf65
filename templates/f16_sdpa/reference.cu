// o = softmax(scale q k^T) v for one query row and head: one block of D threads, everything in double precision on
// the exactly decoded values. Keys come in groups of D: thread t computes the score of key t of the group, then gathers
// column t of v. The softmax is online: what was gathered shrinks whenever a larger score turns up.
//% if mask == 'causal'
// Row i attends to keys 0 to i.
//% end

//% if dtype == 'bf16'
__device__ double decode(unsigned short bits) { return __uint_as_float((unsigned int)bits << 16); }
//% else
#include <cuda_fp16.h>

__device__ double decode(unsigned short bits) { return __half2float(__ushort_as_half(bits)); }
//% end

extern "C" __global__ void f16_sdpa_reference(const unsigned short* q, const unsigned short* k,
                                              const unsigned short* v, float* o, float scale, int S) {
  constexpr int D = ${D};
  __shared__ double query[D];
  __shared__ double score[D];
  const int thread = threadIdx.x;
  const long long head_start = (long long)blockIdx.y * S * D;
  const long long row_start = head_start + (long long)blockIdx.x * D;
  const unsigned short* column = v + head_start + thread;

  query[thread] = decode(q[row_start + thread]);
  __syncthreads();

//% if mask == 'causal'
  const int all_keys = blockIdx.x + 1;
//% else
  const int all_keys = S;
//% end
  double row_max = 0;
  double row_sum = 0;
  double acc_o = 0;
  for (int first_key = 0; first_key < all_keys; first_key += D) {
    const int keys = min(D, all_keys - first_key);
    if (thread < keys) {
      const unsigned short* key = k + head_start + (long long)(first_key + thread) * D;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += query[d] * decode(key[d]);
      score[thread] = dot * scale;
    }
    __syncthreads();

    double group_max = score[0];
    for (int i = 1; i < keys; ++i) group_max = max(group_max, score[i]);
    const double new_max = first_key == 0 ? group_max : max(row_max, group_max);
    const double shrink = first_key == 0 ? 0.0 : exp(row_max - new_max);
    row_max = new_max;
    __syncthreads();

    if (thread < keys) score[thread] = exp(score[thread] - row_max);
    __syncthreads();

    row_sum *= shrink;
    acc_o *= shrink;
    for (int i = 0; i < keys; ++i) {
      row_sum += score[i];
      acc_o += score[i] * decode(column[(long long)(first_key + i) * D]);
    }
    __syncthreads();
  }
  o[row_start + thread] = (float)(acc_o / row_sum);
}
