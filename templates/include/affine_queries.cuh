// Operands of 16 query rows of affine codes, exact f16 numbers. The product of step s takes depths 16 s .. + 15, of
// which a lane has four neighbouring ones, codes 0 and 2 of them before codes 1 and 3; keys are dealt out in the same
// order.
constexpr int depth_steps = head_dim / 16;
typedef f16x2 QueryRows[depth_steps][4];

__device__ __forceinline__ void set_query(f16x2 (&operand)[4], u32 upper, u32 lower, const BytesDecoder& decoder) {
  decoder.decode(upper, operand[0], operand[2]);
  decoder.decode(lower, operand[1], operand[3]);
}

// Rows `row` .. `row` + 15 straight from global memory; rows from `end` on have code 0.
__device__ __forceinline__ void load_query(QueryRows& query, const unsigned char* matrix, int row, int end,
                                           const BytesDecoder& decoder, int lane) {
  const int own = row + lane / 4;
  const unsigned char* source = matrix + (long long)own * head_dim + lane % 4 * 4;
#pragma unroll
  for (int step = 0; step < depth_steps; ++step) {
    const u32 upper = own < end ? load_global_u32(source + 16 * step) : 0;
    const u32 lower = own + 8 < end ? load_global_u32(source + 8 * head_dim + 16 * step) : 0;
    set_query(query[step], upper, lower, decoder);
  }
}

// Rows `row` .. `row` + 15 of a shared tile.
__device__ __forceinline__ void load_query(QueryRows& query, shared_address tile, int row, const BytesDecoder& decoder,
                                           int lane) {
#pragma unroll
  for (int step = 0; step < depth_steps; step += 2) {
    u32 codes[4];
    load_matrices(codes, chunk_address(tile, row + lane % 16, step + lane / 16));
    set_query(query[step], codes[0], codes[1], decoder);
    set_query(query[step + 1], codes[2], codes[3], decoder);
  }
}

// Where a lane's chunks of eight keys begin; depths from 64 `half` on.
__device__ __forceinline__ shared_address keys_start(shared_address tile, int half, int lane) {
  return chunk_address(tile, lane % 8, 4 * half + lane / 8);
}

// scores[m][n] += <query rows m, keys 8 n .. + 7 of those that start there>
template <int m_tiles, int n_tiles, typename Decoder>
__device__ __forceinline__ void multiply_qk(float (&scores)[m_tiles][n_tiles][4], const QueryRows (&query)[m_tiles],
                                            shared_address first_keys, const Decoder& decoder, int lane) {
#pragma unroll
  for (int half = 0; half < head_dim / 64; ++half) {
    const shared_address start = keys_start(first_keys, half, lane);
#pragma unroll
    for (int n = 0; n < n_tiles; ++n) {
      u32 codes[4];
      load_matrices(codes, start + 8 * n * row_bytes);
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        f16x2 first;
        f16x2 second;
        decoder.decode(codes[step], first, second);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) mma_f16(scores[m][n], query[m][4 * half + step], first, second);
      }
    }
  }
}
