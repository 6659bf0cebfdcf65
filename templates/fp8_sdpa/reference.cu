// o = softmax(q k^T / sqrt(D)) v for one query row and head: one block of D threads, everything in double
// precision on the exactly decoded codes. Keys come in groups of D: thread t computes the score of key t of
// the group, then gathers column t of v. The softmax is online: what was gathered shrinks whenever a larger
// score turns up.
//% if mask == 'causal'
// Row i attends to keys 0 to i.
//% end

__device__ double decode_e4m3(unsigned char code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  // Exponent bias 7; exponent field 0 holds the subnormals, steps of 2^-9.
  const float magnitude = exponent == 0 ? mantissa * 0.001953125f
                                        : __int_as_float(((exponent + 120) << 23) | (mantissa << 20));
  return code & 128 ? -magnitude : magnitude;
}

extern "C" __global__ void fp8_sdpa_reference(const unsigned char* q, const unsigned char* k,
                                              const unsigned char* v, const float* q_scale,
                                              const float* k_scale, const float* v_scale, float* o, int S) {
  constexpr int D = ${D};
  __shared__ double query[D];
  __shared__ double score[D];
  const int thread = threadIdx.x;
  const int head = blockIdx.y;
  const long long head_start = (long long)head * S * D;
  const long long row_start = head_start + (long long)blockIdx.x * D;

  query[thread] = decode_e4m3(q[row_start + thread]);
  __syncthreads();

//% if mask == 'causal'
  const int all_keys = blockIdx.x + 1;
//% else
  const int all_keys = S;
//% end
//% if v_layout == 'transposed'
  // Rows of V^T are padded to a multiple of 16 keys.
  const unsigned char* column = v + ((long long)head * D + thread) * ((S + 15) / 16 * 16);
  constexpr long long next_key = 1;
//% else
  const unsigned char* column = v + head_start + thread;
  constexpr long long next_key = D;
//% end
//% if scales == 'tensor'
  const int group = 0;
//% else
  const int group = head;
//% end

  const double scale = (double)q_scale[group] * (double)k_scale[group] / sqrt((double)D);
  double row_max = 0;
  double row_sum = 0;
  double acc_o = 0;
  for (int first_key = 0; first_key < all_keys; first_key += D) {
    const int keys = min(D, all_keys - first_key);
    if (thread < keys) {
      const unsigned char* key = k + head_start + (long long)(first_key + thread) * D;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += query[d] * decode_e4m3(key[d]);
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
      acc_o += score[i] * decode_e4m3(column[(first_key + i) * next_key]);
    }
    __syncthreads();
  }
  o[row_start + thread] = (float)(acc_o / row_sum * (double)v_scale[group]);
}
