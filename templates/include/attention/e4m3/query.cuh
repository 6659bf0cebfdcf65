//% if weigh_type == 'f16'
// An f16 score must not overflow: the codes of a query are divided by a power of two, 2^shift, so that their sum times the
// largest code of a key is an f16 value. Its scores' scale makes up for it. Rows of small codes keep their bits.
__device__ __forceinline__ void find_query_shifts(int (&shifts)[2], const e4m3x4 (&query)[head_dim / 8]) {
  f16x2 sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    sums[i % 2] = add_f16x2(sums[i % 2], first_pair(query[i]) & 0x7fff7fffu);
    sums[i % 2] = add_f16x2(sums[i % 2], second_pair(query[i]) & 0x7fff7fffu);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // 1.02: such sums and scores are rounded
    const float excess = quad_sum(first_of(sums[r]) + second_of(sums[r])) * (1.02f * 448.0f / 65504.0f);
    shifts[r] = max((__float_as_int(excess) >> 23) - 126, 0);  // 2^shift is the power of two above
  }
}

// In place: of every two registers the first belongs to `row`, the second to `row + 8`.
__device__ __forceinline__ void shrink_query(e4m3x4 (&query)[head_dim / 8], const int (&shifts)[2]) {
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    const f16x2 factor = (15 - shifts[i % 2]) * 0x04000400u;  // 2^-shift
    query[i] = join(e4m3x2_from_f16x2(multiply_f16x2(first_pair(query[i]), factor)),
                    e4m3x2_from_f16x2(multiply_f16x2(second_pair(query[i]), factor)));
  }
}

__device__ __forceinline__ float power_of_two(int exponent) { return __int_as_float((127 + exponent) << 23); }

//% end
//% if q_operand == 'global'
// The warp's 16 rows of a work as operands, rows past the end zero: of each 32 codes four of `row` and `row + 8`, and the
// same 16 further along.
__device__ __forceinline__ void load_query(e4m3x4 (&query)[head_dim / 8], const e4m3* q, const Problem& problem,
                                           const Work& work, int first_row, int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    const int row = first_row + lane / 4 + i % 2 * 8;
    query[i] = row < problem.rows(work)
                   ? load_global_u32(q + problem.query_place(work, row) + i / 2 * 16 + lane % 4 * 4)
                   : 0;
  }
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
    for (int i = 0; i < 4; ++i) query[4 * step + i] = matrices[i];
  }
}
//% elif weigh_type == 'f16'
// A warpgroup's 64 rows, `rows` on: a thread's chunk of 16 codes of its two rows as registers of either in turns.
__device__ __forceinline__ shared_address query_chunk(shared_address rows, int r, int chunk, int warp, int lane) {
  constexpr int panel_chunks = row_bytes / 16;
  return rows + chunk / panel_chunks * (tile_q * row_bytes) +
         xor_offset<row_bytes>(warp * 16 + lane / 4 + 8 * r, chunk % panel_chunks);
}

__device__ __forceinline__ void load_query_rows(e4m3x4 (&query)[head_dim / 8], shared_address rows, int warp, int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 32; ++i) {
    const int r = i % 2;
    const uint4 codes = load_shared(query_chunk(rows, r, i / 2 * 4 + lane % 4, warp, lane));
    query[i / 2 * 8 + r] = codes.x;
    query[i / 2 * 8 + r + 2] = codes.y;
    query[i / 2 * 8 + r + 4] = codes.z;
    query[i / 2 * 8 + r + 6] = codes.w;
  }
}

__device__ __forceinline__ void store_query_rows(shared_address rows, const e4m3x4 (&query)[head_dim / 8], int warp,
                                                 int lane) {
#pragma unroll
  for (int i = 0; i < head_dim / 32; ++i) {
    const int r = i % 2;
    const e4m3x4* codes = query + i / 2 * 8 + r;
    store_shared(query_chunk(rows, r, i / 2 * 4 + lane % 4, warp, lane), make_uint4(codes[0], codes[2], codes[4], codes[6]));
  }
  publish_to_async_proxy();
}
//% end
