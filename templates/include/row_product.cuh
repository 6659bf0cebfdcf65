// Products of rows with rows on tensor cores: acc[i][j] += <row i of a, row j of b>, rows of head_dim e4m3
// codes, operands e4m3 or f16 (`qk_math`). The products run over the depth in halves of 64 codes.

//% if qk_math == 'f16'
constexpr int half_steps = 4;  // f16 products of depth 16
//% else
constexpr int half_steps = 2;  // e4m3 products of depth 32
//% end
constexpr int halves = head_dim / 64;
// 16 rows of a, 64 codes of each.
typedef u32 RowsHalf[half_steps][4];

// Codes of depth 32 j .. 32 j + 31 as the products' operand. The f16 product of step 2 j takes codes 0, 1 of
// each register for its first eight depths and codes 2, 3 for the others; b rows are dealt out in the same
// order.
__device__ __forceinline__ void set_rows(RowsHalf& rows, int j, const e4m3x4 (&codes)[4]) {
//% if qk_math == 'f16'
#pragma unroll
  for (int step = 0; step < 2; ++step) {
    rows[2 * j + step][0] = first_pair(codes[2 * step]);
    rows[2 * j + step][1] = first_pair(codes[2 * step + 1]);
    rows[2 * j + step][2] = second_pair(codes[2 * step]);
    rows[2 * j + step][3] = second_pair(codes[2 * step + 1]);
  }
//% else
#pragma unroll
  for (int i = 0; i < 4; ++i) rows[j][i] = codes[i];
//% end
}

//% if copy == 'direct'
// Rows `row` .. `row` + 15 straight from global memory, each lane 16 neighbouring codes of its rows: depths
// are dealt out to lanes so, for b rows too. Rows from `end` on are zero.
__device__ __forceinline__ void load_rows_half(RowsHalf& rows, const e4m3* matrix, int row, int end, int half,
                                               int lane) {
  const int quad_row = row + lane / 4;
  const e4m3* source = matrix + (long long)quad_row * head_dim + 64 * half + lane % 4 * 16;
  uint4 upper = make_uint4(0, 0, 0, 0);
  uint4 lower = make_uint4(0, 0, 0, 0);
  if (quad_row < end) upper = load_global(source);
  if (quad_row + 8 < end) lower = load_global(source + 8 * head_dim);
  set_rows(rows, 0, {upper.x, lower.x, upper.y, lower.y});
  set_rows(rows, 1, {upper.z, lower.z, upper.w, lower.w});
}
//% else
// Rows `row` .. `row` + 15 straight from global memory; rows from `end` on are zero.
__device__ __forceinline__ void load_rows_half(RowsHalf& rows, const e4m3* matrix, int row, int end, int half,
                                               int lane) {
  const int quad_row = row + lane / 4;
  const e4m3* source = matrix + (long long)quad_row * head_dim + 64 * half + lane % 4 * 4;
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
    set_rows(rows, j, codes);
  }
}

// Rows `row` .. `row` + 15 of a shared tile.
__device__ __forceinline__ void load_rows_half(RowsHalf& rows, shared_address tile, int row, int half,
                                               int lane) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    e4m3x4 codes[4];
    load_matrices(codes, chunk_address(tile, row + lane % 16, 4 * half + 2 * j + lane / 16));
    set_rows(rows, j, codes);
  }
}

// The half of eight rows from `row` on of a shared tile.
__device__ __forceinline__ void load_8_rows_half(e4m3x4 (&codes)[4], shared_address tile, int row, int half,
                                                 int lane) {
  load_matrices(codes, chunk_address(tile, row + lane % 8, 4 * half + lane / 8));
}
//% end

// All depths of m_tiles times 16 rows: `load(rows, m, half)` brings a half of the m-th.
template <int m_tiles, typename Load>
__device__ __forceinline__ void load_all_rows(RowsHalf (&rows)[halves][m_tiles], const Load& load) {
#pragma unroll
  for (int half = 0; half < halves; ++half) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load(rows[half][m], m, half);
  }
}

// One half of the depth. `load_b(codes, n)` gives the operand of b's n-th tile of 8 rows. Products that add
// to the same scores wait for each other, so those of ${qk_interleave} tile(s) take turns.
template <int m_tiles, int n_tiles, typename LoadB>
__device__ __forceinline__ void multiply_half(float (&acc)[m_tiles][n_tiles][4], const RowsHalf (&a)[m_tiles],
                                              LoadB load_b) {
  constexpr int interleave = ${qk_interleave};
#pragma unroll
  for (int n = 0; n < n_tiles; n += interleave) {
    e4m3x4 b[interleave][4];
#pragma unroll
    for (int i = 0; i < interleave; ++i) load_b(b[i], n + i);
//% if qk_math == 'f16'
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int i = 0; i < interleave; ++i) {
        const f16x2 first = first_pair(b[i][step]);
        const f16x2 second = second_pair(b[i][step]);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) mma_f16(acc[m][n + i], a[m][step], first, second);
      }
    }
//% else
#pragma unroll
    for (int step = 0; step < 2; ++step) {
#pragma unroll
      for (int i = 0; i < interleave; ++i) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m)
          mma_e4m3(acc[m][n + i], a[m][step], b[i][2 * step], b[i][2 * step + 1]);
      }
    }
//% end
  }
}
