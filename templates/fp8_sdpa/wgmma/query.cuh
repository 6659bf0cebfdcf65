//% if score_type == 'f16'
// An f16 score must not overflow: the queries' codes are divided by 4 D (2^8 where D = 64), and the scores' scale makes up
// for it.
constexpr float query_shrink = 4.0f * head_dim;

__device__ __forceinline__ e4m3x4 shrink_query(e4m3x4 codes) {
  const f16x2 factor = ${D == 64 ? '0x1c001c00u' : D == 128 ? '0x18001800u' : '0x14001400u'};  // 1 / query_shrink
  return join(e4m3x2_from_f16x2(multiply_f16x2(first_pair(codes), factor)),
              e4m3x2_from_f16x2(multiply_f16x2(second_pair(codes), factor)));
}

//% end
//% if q_operand == 'global'
// The warp's 16 rows as operands, rows past the end zero: of each 32 codes four of `row` and `row + 8`, and the same 16
// further along.
__device__ __forceinline__ void load_query(e4m3x4 (&query)[head_dim / 8], const e4m3* q_head, int first_row, int S,
                                           int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    const int row = first_row + lane / 4 + i % 2 * 8;
    query[i] = row < S ? load_global_u32(q_head + (long long)row * head_dim + i / 2 * 16 + lane % 4 * 4) : 0;
  }
//%   if score_type == 'f16'
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) query[i] = shrink_query(query[i]);
//%   end
}
//% elif q_operand == 'registers'
// The warp's 16 rows, from `rows` on, as operands: four registers for each 32 codes.
__device__ __forceinline__ void load_query(e4m3x4 (&query)[head_dim / 8], shared_address rows, int lane) {
  const int row = lane % 16;
#pragma unroll
  for (int step = 0; step < head_dim / 32; ++step) {
    const int chunk = 2 * step + lane / 16;
    u32 matrices[4];
    load_matrices(matrices, rows + 2 * step * 16 / row_bytes * (tile_q * row_bytes) +
                                xor_offset<row_bytes>(row, chunk % (row_bytes / 16)));
#pragma unroll
    for (int i = 0; i < 4; ++i) query[4 * step + i] = ${score_type == 'f16' ? 'shrink_query' : ''}(matrices[i]);
  }
}
//% elif score_type == 'f16'
// A warpgroup's 64 rows in place.
__device__ __forceinline__ void shrink_query_rows(shared_address rows) {
#pragma unroll
  for (int i = threadIdx.x % 128; i < 64 * head_dim / 16; i += 128) {
    const int panel = i / (64 * row_bytes / 16);
    const shared_address chunk = rows + panel * (tile_q * row_bytes) + i % (64 * row_bytes / 16) * 16;
    const uint4 codes = load_shared(chunk);
    store_shared(chunk, make_uint4(shrink_query(codes.x), shrink_query(codes.y), shrink_query(codes.z),
                                   shrink_query(codes.w)));
  }
  publish_to_async_proxy();
}
//% end
