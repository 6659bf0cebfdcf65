// The two products of a warp's rows with one tile. Codes lie with four neighbours in a register; which depth a value has
// within its product of 16 does not matter, as long as both operands agree.

// The operand of the m-th 16 query rows, from row `row` of the CTA's on.
__device__ __forceinline__ void load_query(u32 (&query)[head_dim / 16][m_tiles][4], int m, shared_address tile,
                                           const QueryRows& queries, int row, int lane) {
  const int rows = queries.problem.rows(queries.work);
#pragma unroll
  for (int step = 0; step < head_dim / 16; step += 2) {
    e4m3x4 codes[4] = {0, 0, 0, 0};  // of rows 0-7 and 8-15, of two steps
    if constexpr (q_bytes > 0) {
      load_matrices(codes, chunk_address(tile, row + lane % 16, step + lane / 16));
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int own = queries.work.first_row + row + lane / 4 + i % 2 * 8;
        if (own < rows) codes[i] = load_global_u32(queries.row(own) + 16 * (step + i / 2) + lane % 4 * 4);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      query[step + i / 2][m][i % 2] = first_halves(codes[i]);
      query[step + i / 2][m][2 + i % 2] = second_halves(codes[i]);
    }
  }
}

// The accumulators of eight columns.
__device__ __forceinline__ float (&eight_columns(float* acc, int n))[4] {
  return *reinterpret_cast<float(*)[4]>(acc + 4 * n);
}

// scores = q k^T
__device__ __forceinline__ void multiply_qk(Scores (&scores)[m_tiles], const u32 (&query)[head_dim / 16][m_tiles][4],
                                            shared_address k_tile, int lane) {
#pragma unroll
  for (int step = 0; step < head_dim / 16; step += 2) {
#pragma unroll
    for (int n = 0; n < tile_k / 8; n += 2) {
      e4m3x4 codes[4];  // of the first eight keys, of two steps; of the others
      load_matrices(codes, chunk_address(k_tile, 8 * n + lane / 16 * 8 + lane % 8, step + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const f16x2 first = first_halves(codes[i]);
        const f16x2 second = second_halves(codes[i]);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_f16(eight_columns(scores[m], n + i / 2), query[step + i % 2][m], first, second);
        }
      }
    }
  }
}
//% if row_sum == 'ones'

// A product with columns of ones sums the weights just as the output's products see them; every lane of the quad gets
// it.
__device__ __forceinline__ void add_row_sum(float (&row_sum)[2], const u32 (&weights)[4]) {
  constexpr f16x2 ones = 0x3c003c00u;
  float sum[4] = {row_sum[0], 0.0f, row_sum[1], 0.0f};
  mma_f16(sum, weights, ones, ones);
  row_sum[0] = sum[0];
  row_sum[1] = sum[2];
}
//% end

// acc_o += weights v. ldmatrix.trans turns 8 x 8 pairs of neighbouring columns round: a lane gets two keys' codes of an
// even column and of the odd one behind it. Of each 16 columns, the even ones are those of one product and the odd ones
// those of the other.
__device__ __forceinline__ void multiply_pv(Accumulators (&acc_o)[m_tiles], float (&row_sum)[m_tiles][2],
                                            const Weights (&weights)[m_tiles], shared_address v_tile, int lane) {
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
    for (int part = 0; part < head_dim / 32; ++part) {
      e4m3x4 codes[4];  // keys 0-7 and 8-15 of 16 columns; of the next 16
      load_matrices_transposed(codes, chunk_address(v_tile, 16 * step + lane % 16, 2 * part + lane / 16));
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int n = 4 * part + 2 * i;
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_f16(eight_columns(acc_o[m], n), rows[m], even_halves(codes[2 * i]), even_halves(codes[2 * i + 1]));
          mma_f16(eight_columns(acc_o[m], n + 1), rows[m], odd_halves(codes[2 * i]), odd_halves(codes[2 * i + 1]));
        }
      }
    }
  }
}
