// The two products of a warp's rows with one tile.

// The accumulators of eight columns.
__device__ __forceinline__ float (&eight_columns(float* acc, int n))[4] {
  return *reinterpret_cast<float(*)[4]>(acc + 4 * n);
}

// scores = q k^T. `load_query(fragment, m, step)` gives the operand of the m-th 16 rows.
template <typename LoadQuery>
__device__ __forceinline__ void multiply_qk(Scores (&scores)[m_tiles], shared_address k_tile, int lane,
                                            LoadQuery load_query) {
  const shared_address start = key_start(k_tile, lane);
#pragma unroll
  for (int step = 0; step < head_dim / 16; ++step) {
    u32 rows[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load_query(rows[m], m, step);
#pragma unroll
    for (int n = 0; n < tile_k / 8; n += 2) {
      u32 keys[4];
      load_keys(keys, start, 8 * n, step);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        mma_${dtype}(eight_columns(scores[m], n), rows[m], keys[0], keys[1]);
        mma_${dtype}(eight_columns(scores[m], n + 1), rows[m], keys[2], keys[3]);
      }
    }
  }
}
//% if row_sum == 'ones'

// A product with columns of ones sums the weights just as the output's products see them; every lane of the quad gets
// it.
__device__ __forceinline__ void add_row_sum(float (&row_sum)[2], const u32 (&weights)[4]) {
  constexpr u32 ones = ${dtype == 'f16' ? '0x3c003c00u' : '0x3f803f80u'};
  float sum[4] = {row_sum[0], 0.0f, row_sum[1], 0.0f};
  mma_${dtype}(sum, weights, ones, ones);
  row_sum[0] = sum[0];
  row_sum[1] = sum[2];
}
//% end

// acc_o += weights v.
__device__ __forceinline__ void multiply_pv(Accumulators (&acc_o)[m_tiles], float (&row_sum)[m_tiles][2],
                                            const Weights (&weights)[m_tiles], shared_address v_tile,
                                            int lane) {
  const shared_address start = value_start(v_tile, lane);
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
    u32 rows[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) rows[m][i] = weights[m][4 * step + i];
//% if row_sum == 'ones'
      add_row_sum(row_sum[m], rows[m]);
//% end
    }
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      u32 values[4];
      load_values(values, start, 16 * step, part);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        mma_${dtype}(eight_columns(acc_o[m], 2 * part), rows[m], values[0], values[1]);
        mma_${dtype}(eight_columns(acc_o[m], 2 * part + 1), rows[m], values[2], values[3]);
      }
    }
  }
}
