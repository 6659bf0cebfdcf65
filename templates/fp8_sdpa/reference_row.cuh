  // The row that a block computes: how many keys it sees, a thread's column of the values, the factor of scores.
  constexpr int D = ${D};
  const int head = blockIdx.y;
  const long long head_start = (long long)head * S * D;
  const long long row_start = head_start + (long long)blockIdx.x * D;
  constexpr bool causal = ${mask == 'causal'};  // row i attends to keys 0 to i
  const int keys = causal ? blockIdx.x + 1 : S;
  // Rows of V^T are padded to a multiple of 16 keys.
  constexpr bool v_is_transposed = ${v_layout == 'transposed'};
  const unsigned char* column = v + (v_is_transposed ? ((long long)head * D + threadIdx.x) * ((S + 15) / 16 * 16)
                                                     : head_start + threadIdx.x);
  constexpr long long next_value = v_is_transposed ? 1 : D;
  const int group = ${scales == 'tensor' ? '0' : 'head'};
  const double scale = (double)q_scale[group] * (double)k_scale[group] / sqrt((double)D);
