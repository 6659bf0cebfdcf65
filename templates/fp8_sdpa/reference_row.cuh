  // The row that a block computes: how many keys it sees, a thread's column of the values, what scores are multiplied by.
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
