// o = softmax(scale q k^T) v for one query row and head: one block of D threads, everything in double precision on
// exactly decoded codes. Keys come in groups of D: thread t computes the score of key t of the group, then gathers
// column t of v. The softmax is online: what was gathered shrinks whenever a larger score turns up.
//% if mask == 'causal'
// Row i of M attends to keys 0 to N - M + i.
//% end

extern "C" __global__ void sim_fp8_sdpa_reference(const unsigned char* q, const unsigned char* k,
                                                  const unsigned char* v, const float* q_scales,
                                                  const float* k_scales, const float* v_scales,
                                                  const unsigned char* q_zeros, const unsigned char* k_zeros,
                                                  const unsigned char* v_zeros, float* o, float softmax_scale, int M,
                                                  int N) {
  constexpr int D = ${D};
  __shared__ double query[D];
  __shared__ double score[D];
  const int thread = threadIdx.x;
  const int head = blockIdx.y;
  const int scale_of = ${scales == 'head' ? 'head' : '0'};
  const int k_zero = k_zeros[scale_of];
  const double k_scale = k_scales[scale_of];
  const int v_zero = v_zeros[scale_of];
  const double v_scale = v_scales[scale_of];
  const long long row_start = ((long long)head * M + blockIdx.x) * D;
  const unsigned char* keys_of_head = k + (long long)head * N * D;
  const unsigned char* column = v + (long long)head * N * D + thread;

  query[thread] = ((int)q[row_start + thread] - (int)q_zeros[scale_of]) * (double)q_scales[scale_of];
  __syncthreads();

//% if mask == 'causal'
  const int all_keys = N - M + blockIdx.x + 1;
//% else
  const int all_keys = N;
//% end
  double row_max = 0;
  double row_sum = 0;
  double acc_o = 0;
  for (int first_key = 0; first_key < all_keys; first_key += D) {
    const int keys = min(D, all_keys - first_key);
    if (thread < keys) {
      const unsigned char* key = keys_of_head + (long long)(first_key + thread) * D;
      double dot = 0;
      for (int d = 0; d < D; ++d) dot += query[d] * (((int)key[d] - k_zero) * k_scale);
      score[thread] = dot * softmax_scale;
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
      acc_o += score[i] * ((column[(long long)(first_key + i) * D] - v_zero) * v_scale);
    }
    __syncthreads();
  }
  o[row_start + thread] = (float)(acc_o / row_sum);
}
