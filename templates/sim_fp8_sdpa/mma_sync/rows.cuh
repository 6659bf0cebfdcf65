// Rows on their way out of a warp's registers: merged with those of other groups, or stored.

// The four neighbouring columns that a lane has of 16: of row `row` (r = 0) or `row + 8` (r = 1). `acc` are its
// accumulators of the even columns and of the odd ones.
__device__ __forceinline__ float4 columns_of(const float (*acc)[4], int r) {
  return make_float4(acc[0][2 * r], acc[1][2 * r], acc[0][2 * r + 1], acc[1][2 * r + 1]);
}

// Partial rows of a group, in its area of shared memory: [row] accumulators (64 bytes more than a row spread the rows
// over the banks), then [row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;

__device__ __forceinline__ shared_address statistics_of(shared_address area, int row) {
  return area + tile_q * partial_row_bytes + row * 8;
}

// Of a warp's 16 rows from `first_row` of the CTA's on.
__device__ __forceinline__ void leave_partial_rows(shared_address area, int first_row, const Accumulators& acc_o,
                                                   const float (&row_max)[2], const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      store_shared(area + row * partial_row_bytes + part * 64 + lane % 4 * 16, columns_of(acc_o + 2 * part, r));
    }
    if (lane % 4 == 0) store_shared(statistics_of(area, row), make_float2(row_max[r], row_sum[r]));
  }
}

// All threads share the merged rows, four columns at a time. `areas`: where those of the groups begin.
__device__ __forceinline__ void merge_rows(shared_address areas, const Output& output, const Work& work,
                                           const ValueScale& value) {
  constexpr int row_items = head_dim / 4;
#pragma unroll
  for (int item = threadIdx.x; item < tile_q * row_items; item += threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
    if (work.first_row + row >= output.M) break;
    PartialRow merged;
    float2 statistics[groups];
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      statistics[i] = load_shared_f32x2(statistics_of(areas + i * group_bytes, row));
      merged.row_max = fmaxf(merged.row_max, statistics[i].x);
    }
#pragma unroll
    for (int i = 0; i < groups; ++i) {
      merged.add(statistics[i], load_shared_f32x4(areas + i * group_bytes + row * partial_row_bytes + column * 4));
    }
    finish_columns(output, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum, value);
  }
}

// Of a warp's 16 rows from row `first_row` of the head on.
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
                                           const Accumulators& acc_o, const float (&row_max)[2],
                                           const float (&row_sum)[2], const ValueScale& value, int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
    if (row >= output.M) continue;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      finish_columns(output, work, row, 16 * part + lane % 4 * 4, columns_of(acc_o + 2 * part, r), row_max[r],
                     row_sum[r], value);
    }
  }
}
