// Attention of one query: one block of D threads, everything in double precision on the exactly decoded codes. Each batch
// and head of keys has its scales; query head h uses the keys of head h / (heads / kv_heads).
// Causal: query i of a batch sees keys 0 to i + keys - queries, with a window the last ones of them.

#include "include/reference/e4m3.cuh"

//% let gathered_weight = 'score[i]'

enum class Layout { bhsd, bshd, fused };
constexpr Layout layout = Layout::${layout};
constexpr bool causal = ${causal};
constexpr int window = ${window};              // keys that a query sees; 0: all
constexpr bool has_lengths = ${cu_seqlens};      // sequences lie behind each other
constexpr bool paged = ${page > 0};            // keys and values lie in pages of a cache
constexpr int page_keys = ${max(page, 1)};
constexpr bool log_sum_exp = ${log_sum_exp};

struct Rows {  // elements from a row to the next, and from a head
  long long row;
  long long head;
  long long batch;
};

__device__ Rows rows_of(int length, int heads, int fused_heads) {
  constexpr int D = ${D};
  if constexpr (layout == Layout::bhsd) return {D, (long long)length * D, (long long)heads * length * D};
  if constexpr (layout == Layout::bshd) return {heads * D, D, (long long)heads * length * D};
  return {fused_heads * D, D, (long long)fused_heads * length * D};
}

extern "C" __global__ void fp8_attention_reference(const unsigned char* q, const unsigned char* k,
                                                   const unsigned char* v, const float* q_scale, const float* k_scale,
                                                   const float* v_scale, float* o, float* lse,
                                                   const int* cu_seqlens_q, const int* cu_seqlens_kv,
                                                   const int* page_table, const int* kv_lengths, double softmax_scale,
                                                   int S_q, int S_kv, int heads, int kv_heads) {
  constexpr int D = ${D};
  const int head = blockIdx.y;
  const int thread = threadIdx.x;
  const int kv_head = head / (heads / kv_heads);

  // The query's place in its batch, and the batch's queries and keys in the tensors.
  int batch = blockIdx.z;
  int tensor_batch = batch;
  int first_query = 0;
  int queries = S_q;
  int first_key_of_batch = 0;
  int keys = S_kv;
  if constexpr (has_lengths) {
    batch = tensor_batch = 0;
    while (cu_seqlens_q[batch + 1] <= blockIdx.x) ++batch;
    first_query = cu_seqlens_q[batch];
    queries = cu_seqlens_q[batch + 1] - first_query;
  }
  const int position = blockIdx.x - first_query;
  if constexpr (paged) {
    keys = kv_lengths[batch];
  } else if constexpr (has_lengths) {
    first_key_of_batch = cu_seqlens_kv[batch];
    keys = cu_seqlens_kv[batch + 1] - first_key_of_batch;
  }

  const int fused_heads = heads + 2 * kv_heads;
  const Rows query_rows = rows_of(S_q, heads, fused_heads);
  const Rows key_rows = rows_of(paged ? page_keys : S_kv, kv_heads, fused_heads);
  const unsigned char* query_row =
      q + tensor_batch * query_rows.batch + head * query_rows.head + blockIdx.x * query_rows.row;
  const auto place_of_key = [&](int key) {
    if constexpr (paged) {
      const int page = page_table[batch * ((S_kv + page_keys - 1) / page_keys) + key / page_keys];
      return page * key_rows.batch + kv_head * key_rows.head + key % page_keys * key_rows.row;
    } else {
      return tensor_batch * key_rows.batch + kv_head * key_rows.head + (first_key_of_batch + key) * key_rows.row;
    }
  };
  const int q_scales = tensor_batch * kv_heads + kv_head;
  const int kv_scales = paged ? kv_head : q_scales;
  const double scale = (double)q_scale[q_scales] * (double)k_scale[kv_scales] * softmax_scale;

  const int causal_end = position + keys - queries + 1;
  const int end_key = causal ? min(keys, causal_end) : keys;
  const int begin_key = window > 0 ? max(0, causal_end - window) : 0;

  // Keys come in groups of D: thread t computes the score of key t of the group and what values are multiplied by, then
  // gathers its column of the values.
  // The softmax is online: what was gathered shrinks whenever a larger score turns up.
  __shared__ double query[D];
  __shared__ double score[D];
  __shared__ double weight[D];
  __shared__ long long place[D];
  query[thread] = decode(query_row[thread]);
  __syncthreads();
  double row_max = 0;
  double row_sum = 0;
  double gathered = 0;
  for (int first_key = begin_key; first_key < end_key; first_key += D) {
    const int count = min(D, end_key - first_key);
    if (thread < count) {
      place[thread] = place_of_key(first_key + thread);
      const unsigned char* key = k + place[thread];
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

    if (thread < count) {
      const int i = thread;
      score[i] = exp(score[i] - row_max);
      weight[i] = ${gathered_weight};
    }
    __syncthreads();

    row_sum *= shrink;
    gathered *= shrink;
    for (int i = 0; i < count; ++i) {
      row_sum += score[i];
      gathered += weight[i] * decode(v[place[i] + thread]);
    }
    __syncthreads();
  }

  const double result = row_sum > 0 ? gathered / row_sum * (double)v_scale[kv_scales] : 0.0;
  const long long row = layout == Layout::bhsd ? ((long long)tensor_batch * heads + head) * S_q + blockIdx.x
                                               : ((long long)tensor_batch * S_q + blockIdx.x) * heads + head;
  o[row * D + thread] = (float)result;
  // A row that sees no key: the lowest f32, which counts for nothing where results are merged.
  if (log_sum_exp && thread == 0) {
    lse[((long long)tensor_batch * heads + head) * S_q + blockIdx.x] =
        row_sum > 0 ? (float)(row_max + log(row_sum)) : -3.4028235e38f;
  }
}
