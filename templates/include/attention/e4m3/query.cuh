#pragma once
// An f16 score must not overflow, nor the difference of two where maxima are taken off: the codes of a query are divided by a
// power of two, 2^shift, so that their sum times the largest code of a key is an f16 value, or half of one. Its scores' scale
// makes up for it. Rows of small codes keep their bits.
__device__ __forceinline__ void find_query_shifts(int (&shifts)[2], const e4m3x4 (&query)[head_dim / 8]) {
  constexpr float largest_score = unrounded ? 32752.0f : 65504.0f;
  f16x2 sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    sums[i % 2] = add_f16x2(sums[i % 2], first_pair(query[i]) & 0x7fff7fffu);
    sums[i % 2] = add_f16x2(sums[i % 2], second_pair(query[i]) & 0x7fff7fffu);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    // 1.02: such sums and scores are rounded
    const float excess = quad_sum(first_of(sums[r]) + second_of(sums[r])) * (1.02f * 448.0f / largest_score);
    shifts[r] = max((__float_as_int(excess) >> 23) - 126, 0);  // 2^shift is the power of two above
  }
}

// In place: of every two registers the first belongs to `row`, the second to `row + 8`.
__device__ __forceinline__ void shrink_by_shifts(e4m3x4 (&query)[head_dim / 8], const int (&shifts)[2]) {
#pragma unroll
  for (int i = 0; i < head_dim / 8; ++i) {
    const f16x2 factor = (15 - shifts[i % 2]) * 0x04000400u;  // 2^-shift
    query[i] = join(e4m3x2_from_f16x2(multiply_f16x2(first_pair(query[i]), factor)),
                    e4m3x2_from_f16x2(multiply_f16x2(second_pair(query[i]), factor)));
  }
}

__device__ __forceinline__ void shrink_query(e4m3x4 (&query)[head_dim / 8], int (&shifts)[2]) {
  find_query_shifts(shifts, query);
  shrink_by_shifts(query, shifts);
}

// The warp's 16 rows of a work as operands, rows past the end zero: of each 32 codes four of `row` and `row + 8`, and the
// same 16 further along. `column` is the first.
template <int count>
__device__ __forceinline__ void load_query(e4m3x4 (&query)[count], const e4m3* q, const Problem& problem,
                                           const Work& work, int first_row, int column, int lane) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int row = first_row + lane / 4 + i % 2 * 8;
    query[i] = row < problem.rows(work)
                   ? load_global_u32(q + problem.query_place(work, row) + column + i / 2 * 16 + lane % 4 * 4)
                   : 0;
  }
}

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

// What multiplies the keys: the codes of the warp's rows in registers, or the warpgroup's rows in shared memory.
struct RegisterQuery {
  e4m3x4 codes[head_dim / 8];

  // Of the 32 columns of a step of the first product.
  __device__ __forceinline__ const e4m3x4* operand(int step) const { return codes + 4 * step; }
};

struct SharedQuery {
  matrix_descriptor rows;

  __device__ __forceinline__ matrix_descriptor operand(int step) const {
    return along_rows(rows, 32 * step / row_bytes * tile_q * row_bytes + 32 * step % row_bytes);
  }
};
typedef ${q_operand == 'smem' ? 'SharedQuery' : 'RegisterQuery'} Query;

// Where the work's rows of this warp or warpgroup become operands. With f16 scores their codes are divided by 2^shifts, of
// `row` and `row + 8`.
__device__ __forceinline__ void take_query(RegisterQuery& query, int (&shifts)[2], const SharedMemory& smem,
                                           u32& query_parity, int warp, int lane, int, int row_part) {
  const shared_address query_rows = smem.query() + row_part * 64 * row_bytes;
  wait_for(smem.query_full(row_part), query_parity);
  query_parity ^= 1;
  load_query(query.codes, query_rows + warp * 16 * row_bytes, lane);
  if constexpr (!weighs_f32) shrink_query(query.codes, shifts);
  if constexpr (persistent) {
    __syncwarp();  // all lanes have read them
    if (lane == 0) arrive(smem.query_free(row_part));
  }
}

__device__ __forceinline__ void take_query(SharedQuery& query, int (&shifts)[2], const SharedMemory& smem,
                                           u32& query_parity, int warp, int lane, int group, int row_part) {
  const shared_address query_rows = smem.query() + row_part * 64 * row_bytes;
  wait_for(smem.query_full(row_part), query_parity);
  query_parity ^= 1;
  if constexpr (!weighs_f32) {
    e4m3x4 rows[head_dim / 8];
    load_query_rows(rows, query_rows, warp, lane);
    find_query_shifts(shifts, rows);
    if constexpr (groups > 1) sync_at(query_barrier + row_part, 128 * groups);  // all groups have read them
    shrink_by_shifts(rows, shifts);
    if (group == 0) store_query_rows(query_rows, rows, warp, lane);
    sync_at(query_barrier + row_part, 128 * groups);
  }
  query.rows = describe_matrix<row_bytes>(query_rows);
}

// The first product, in steps of 32 columns.
template <int step = 0>
__device__ __forceinline__ void multiply_scores(TileScores& scores, const Query& query, matrix_descriptor keys) {
  constexpr int bytes = 32 * step;
  multiply_qk<(step > 0)>(scores, query.operand(step),
                          along_rows(keys, bytes / row_bytes * tile_k * row_bytes + bytes % row_bytes));
  if constexpr (bytes + 32 < head_dim) multiply_scores<step + 1>(scores, query, keys);
}

// The operand of the 32 columns of a step for products of this warp alone. In shared memory its rows begin at `rows`.
__device__ __forceinline__ void load_operand(e4m3x4 (&codes)[4], const RegisterQuery& query, shared_address, int step, int) {
#pragma unroll
  for (int i = 0; i < 4; ++i) codes[i] = query.operand(step)[i];
}
__device__ __forceinline__ void load_operand(e4m3x4 (&codes)[4], const SharedQuery&, shared_address rows, int step, int lane) {
  load_matrices(codes, rows + 2 * step * 16 / row_bytes * (tile_q * row_bytes) +
                           xor_offset<row_bytes>(lane % 16, (2 * step + lane / 16) % (row_bytes / 16)));
}

// The scores of eight keys of a tile, from `first` on, for the 16 rows of this warp alone: no other warp has to come. Codes are
// widened to f16, whose products are summed precisely: 16 columns at a time, in the order of a thread's codes.
// load_rows(codes, step) brings the queries' 32 columns of a step.
template <typename LoadRows>
__device__ __forceinline__ void multiply_scores_again(EightScores& scores, const LoadRows& load_rows,
                                                      shared_address keys, int first, int lane) {
#pragma unroll
  for (int n = 0; n < 4; ++n) scores[n] = 0.0f;
#pragma unroll
  for (int step = 0; step < head_dim / 32; step += 2) {
    u32 columns[4];  // 16 each
    load_matrices(columns, keys + 2 * step * 16 / row_bytes * (tile_k * row_bytes) +
                               xor_offset<row_bytes>(first + lane % 8, (2 * step + lane / 8) % (row_bytes / 16)));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      e4m3x4 rows[4];
      load_rows(rows, step + half);
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const f16x2 widened_rows[4] = {first_pair(rows[i]), first_pair(rows[i + 1]), second_pair(rows[i]),
                                       second_pair(rows[i + 1])};
        const e4m3x4 codes = columns[2 * half + i / 2];
        mma_f16(scores, widened_rows, first_pair(codes), second_pair(codes));
      }
    }
  }
}
