// The product of a warp's weights with one tile of values.

// Where a lane's chunks of 16 keys' values begin; columns from 32 `part` on.
__device__ __forceinline__ shared_address values_start(shared_address tile, int part, int lane) {
  return chunk_address(tile, lane % 16, 2 * part + lane / 16);
}
//% if row_sum == 'ones'

// A product with columns of ones sums the weights just as the output's products see them; every lane of the quad gets
// it.
__device__ __forceinline__ void add_row_sum(float (&row_sum)[2], const f16x2 (&weights)[4]) {
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
                                            const Weights (&weights)[m_tiles], shared_address v_tile,
                                            const ValueDecoder& decoder, int lane) {
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
//% if row_sum == 'ones'
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) add_row_sum(row_sum[m], weights[m][step]);
//% end
#pragma unroll
    for (int part = 0; part < head_dim / 32; ++part) {
      u32 codes[4];
      load_matrices_transposed(codes, values_start(v_tile, part, lane) + 16 * step * row_bytes);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        f16x2 even[2];
        f16x2 odd[2];
        decoder.decode(codes[2 * i], even[0], odd[0]);
        decoder.decode(codes[2 * i + 1], even[1], odd[1]);
        const int n = 4 * part + 2 * i;
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_f16(acc_o[m][n], weights[m][step], even[0], even[1]);
          mma_f16(acc_o[m][n + 1], weights[m][step], odd[0], odd[1]);
        }
      }
    }
  }
}
