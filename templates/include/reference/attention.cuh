// Every code stands for what decode() makes of it.
struct PlainDecoder {
  template <typename Code>
  __device__ double query(Code code) const { return decode(code); }
  template <typename Code>
  __device__ double key(Code code) const { return decode(code); }
  template <typename Code>
  __device__ double value(Code code) const { return decode(code); }
};

// Element `thread` of softmax(scale q K^T) V for one query row, of which a block of D threads has an element each, in
// double precision. Keys come in groups of D: thread t computes the score of key t of the group, then gathers `column`,
// its column of the values, whose elements are `next_value` apart. The softmax is online: what was gathered shrinks
// whenever a larger score turns up. gathered_weight: the weight that values are multiplied by, score[i]. `decoder`
// tells what codes of queries, keys and values stand for.
template <int D, typename Code, typename Decoder = PlainDecoder>
__device__ double attention(const Code* query_row, const Code* keys_of_head, const Code* column, long long next_value,
                            int all_keys, double scale, const Decoder& decoder = Decoder()) {
  __shared__ double query[D];
  __shared__ double score[D];
  const int thread = threadIdx.x;
  query[thread] = decoder.query(query_row[thread]);
  __syncthreads();

  double row_max = 0;
  double row_sum = 0;
  double gathered = 0;
  for (int first_key = 0; first_key < all_keys; first_key += D) {
    const int keys = min(D, all_keys - first_key);
    if (thread < keys) {
      const Code* key = keys_of_head + (long long)(first_key + thread) * D;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += query[d] * decoder.key(key[d]);
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
    gathered *= shrink;
    for (int i = 0; i < keys; ++i) {
      row_sum += score[i];
      gathered += ${gathered_weight} * decoder.value(column[(first_key + i) * next_value]);
    }
    __syncthreads();
  }
  return gathered / row_sum;
}
