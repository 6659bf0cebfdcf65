// scores = q k^T for a warp's query rows and one key tile. The product runs over the head dimension in halves of 64 codes:
// one ldmatrix brings eight keys' half.

//% if qk_math == 'f16'
constexpr int half_steps = 4;  // f16 products of depth 16
//% else
constexpr int half_steps = 2;  // e4m3 products of depth 32
//% end
constexpr int halves = head_dim / 64;
typedef u32 QueryHalf[half_steps][4];

// Codes of depth 32 j .. 32 j + 31 as the product's operand. The f16 product of step 2 j takes codes 0, 1 of each register for its
// first eight depths and codes 2, 3 for the others; the keys are dealt out in the same order.
__device__ __forceinline__ void set_query(QueryHalf& query, int j, const e4m3x4 (&codes)[4]) {
//% if qk_math == 'f16'
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    query[2 * j + step][0] = first_pair(codes[2 * step]);
    query[2 * j + step][1] = first_pair(codes[2 * step + 1]);
    query[2 * j + step][2] = second_pair(codes[2 * step]);
    query[2 * j + step][3] = second_pair(codes[2 * step + 1]);
  }
//% else
#pragma unroll
  for (int i = 0; i < 4; ++i) query[j][i] = codes[i];
//% end
}

//% if q_operand == 'global'
// Rows `row` .. `row` + 15 straight from global memory; rows from `end` on are zero.
__device__ __forceinline__ void load_query_half(QueryHalf& query, const e4m3* q, int row, int end, int half, int lane) {
  const int quad_row = row + lane / 4;
  const e4m3* source = q + (long long)quad_row * head_dim + 64 * half + lane % 4 * 4;
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    e4m3x4 codes[4] = {0, 0, 0, 0};
    if (quad_row < end) {
      codes[0] = load_global_u32(source + 32 * j);
      codes[2] = load_global_u32(source + 32 * j + 16);
    }
    if (quad_row + 8 < end) {
      codes[1] = load_global_u32(source + 8 * head_dim + 32 * j);
      codes[3] = load_global_u32(source + 8 * head_dim + 32 * j + 16);
    }
    set_query(query, j, codes);
  }
}
//% else
// Rows `row` .. `row` + 15 of the shared query tile.
__device__ __forceinline__ void load_query_half(QueryHalf& query, shared_address q_tile, int row, int half, int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    e4m3x4 codes[4];
    load_matrices(codes, chunk_address(q_tile, row + lane % 16, 4 * half + 2 * j + lane / 16));
    set_query(query, j, codes);
  }
}
//% end

__device__ __forceinline__ void multiply_half(float (&scores)[m_tiles][key_tiles][4], const QueryHalf (&query)[m_tiles],
                                              shared_address k_tile, int half, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
    e4m3x4 keys[4];
    load_matrices(keys, chunk_address(k_tile, 8 * n + lane % 8, 4 * half + lane / 8));
//% if qk_math == 'f16'
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const f16x2 first = first_pair(keys[step]);
      const f16x2 second = second_pair(keys[step]);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) mma_f16(scores[m][n], query[m][step], first, second);
    }
//% else
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) mma_e4m3(scores[m][n], query[m][step], keys[2 * step], keys[2 * step + 1]);
    }
//% end
  }
}

// Keys from `keys_left` on do not exist: their scores become so low that their weights vanish.
__device__ __forceinline__ void mask_scores(float (&scores)[m_tiles][key_tiles][4], int keys_left, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 8 * n + 2 * (lane % 4) + i % 2;
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        if (key >= keys_left) scores[m][n][i] = lowest_score;
      }
    }
  }
}

// The largest score of each row in the tile, scaled.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[m_tiles][2], const float (&scores)[m_tiles][key_tiles][4],
                                              float scale) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = fmaxf(scores[m][0][2 * r], scores[m][0][2 * r + 1]);
#pragma unroll
      for (int n = 1; n < key_tiles; ++n) largest = fmaxf(largest, fmaxf(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      tile_max[m][r] = rounded_max(quad_max(largest) * scale);
    }
  }
}
