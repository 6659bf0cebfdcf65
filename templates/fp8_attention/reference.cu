// Attention of one query: one block of D threads, everything in double precision on the exactly decoded codes. Each batch
// and head of keys has its scales; query head h uses the keys of head h / (heads / kv_heads).
//% if causal
// Query i of S_q sees keys 0 to i + S_kv - S_q${window > 0 ? ', the last ' : ''}${window > 0 ? window : ''}${window > 0 ? ' of them' : ''}.
//% end

//% include "include/reference/e4m3.cuh"

//% let gathered_weight = 'score[i]'

struct Rows {  // elements from a row to the next, and from a head
  long long row;
  long long head;
  long long batch;
};

__device__ Rows rows_of(int length, int heads, int fused_heads) {
  constexpr int D = ${D};
//% if layout == 'bhsd'
  return {D, (long long)length * D, (long long)heads * length * D};
//% elif layout == 'bshd'
  return {heads * D, D, (long long)heads * length * D};
//% else
  return {fused_heads * D, D, (long long)fused_heads * length * D};
//% end
}

extern "C" __global__ void fp8_attention_reference(const unsigned char* q, const unsigned char* k,
                                                   const unsigned char* v, const float* q_scale, const float* k_scale,
                                                   const float* v_scale, float* o, float* lse, double softmax_scale,
                                                   int S_q, int S_kv, int heads, int kv_heads) {
  constexpr int D = ${D};
  const int position = blockIdx.x;
  const int head = blockIdx.y;
  const int batch = blockIdx.z;
  const int thread = threadIdx.x;
  const int kv_head = head / (heads / kv_heads);
  const int scales = batch * kv_heads + kv_head;
  const double scale = (double)q_scale[scales] * (double)k_scale[scales] * softmax_scale;

  const int fused_heads = heads + 2 * kv_heads;
  const Rows queries = rows_of(S_q, heads, fused_heads);
  const Rows keys = rows_of(S_kv, kv_heads, fused_heads);
  const unsigned char* query_row = q + batch * queries.batch + head * queries.head + position * queries.row;
  const long long keys_start = batch * keys.batch + kv_head * keys.head;

//% if causal
  const int end_key = min(S_kv, position + S_kv - S_q + 1);
//% else
  const int end_key = S_kv;
//% end
//% if window > 0
  const int begin_key = max(0, position + S_kv - S_q + 1 - ${window});
//% else
  const int begin_key = 0;
//% end

  // Keys come in groups of D: thread t computes the score of key t of the group, then gathers its column of the values.
  // The softmax is online: what was gathered shrinks whenever a larger score turns up.
  __shared__ double query[D];
  __shared__ double score[D];
  query[thread] = decode(query_row[thread]);
  __syncthreads();
  double row_max = 0;
  double row_sum = 0;
  double gathered = 0;
  for (int first_key = begin_key; first_key < end_key; first_key += D) {
    const int count = min(D, end_key - first_key);
    if (thread < count) {
      const unsigned char* key = k + keys_start + (first_key + thread) * keys.row;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += query[d] * decode(key[d]);
      score[thread] = dot * scale;
    }
    __syncthreads();

    double group_max = score[0];
    for (int i = 1; i < count; ++i) group_max = max(group_max, score[i]);
    const double new_max = first_key == begin_key ? group_max : max(row_max, group_max);
    const double shrink = first_key == begin_key ? 0.0 : exp(row_max - new_max);
    row_max = new_max;
    __syncthreads();

    if (thread < count) score[thread] = exp(score[thread] - row_max);
    __syncthreads();

    row_sum *= shrink;
    gathered *= shrink;
    for (int i = 0; i < count; ++i) {
      row_sum += score[i];
      gathered += ${gathered_weight} * decode(v[keys_start + (first_key + i) * keys.row + thread]);
    }
    __syncthreads();
  }

  const double result = row_sum > 0 ? gathered / row_sum * (double)v_scale[scales] : 0.0;
//% if layout == 'bhsd'
  const long long row = ((long long)batch * heads + head) * S_q + position;
//% else
  const long long row = ((long long)batch * S_q + position) * heads + head;
//% end
  o[row * D + thread] = (float)result;
//% if log_sum_exp
  // A row that sees no key: the lowest f32, which counts for nothing where results are merged.
  if (thread == 0) {
    lse[((long long)batch * heads + head) * S_q + position] =
        row_sum > 0 ? (float)(row_max + log(row_sum)) : -3.4028235e38f;
  }
//% end
}
