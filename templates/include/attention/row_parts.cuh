#pragma once
// What becomes of a warp's rows: they leave, or are merged with those of other groups of warps, which finish_columns ends.
// `Output` has rows(work), where the rows of a work's head end.

// Calls `body` with each part that a thread has of its warp's 16 rows: 0 for row `lane / 4` and 1 for that eight further
// down, the row counted from `first_row` on, the first of four columns, and these.
template <typename Body>
__device__ __forceinline__ void for_each_part(const float (&acc_o)[o_registers], int first_row, int lane,
                                              const Body& body) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      body(r, first_row + lane / 4 + 8 * r, 16 * part + Columns::column_of(lane), Columns::columns_of(acc_o + 8 * part, r, lane));
    }
  }
}

// Partial rows of a group, in its area of shared memory: [row] accumulators (64 bytes more than a row spread the rows
// over the banks), then [row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;

__device__ __forceinline__ shared_address statistics_of(shared_address area, int row) {
  return area + tile_q * partial_row_bytes + row * 8;
}

// Of a warp's 16 rows from `first_row` of the CTA's on.
__device__ __forceinline__ void leave_partial_rows(shared_address area, int first_row,
                                                   const float (&acc_o)[o_registers], const float (&row_max)[2],
                                                   const float (&row_sum)[2], int lane) {
  for_each_part(acc_o, first_row, lane, [&](int, int row, int column, float4 columns) {
    store_shared(area + row * partial_row_bytes + column * 4, columns);
  });
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
    if (lane % 4 == 0) store_shared(statistics_of(area, row), make_float2(row_max[r], row_sum[r]));
  }
}

// The merging threads, of all CTAs of a cluster if those share keys, share the merged rows, four columns at a time.
// `areas`: where those of the groups begin.
template <typename Output>
__device__ __forceinline__ void merge_rows(shared_address areas, const Output& output, const Work& work) {
  constexpr int row_items = head_dim / 4;
  constexpr int sharers = split_over_cluster ? kv_split : 1;
  const int first_item = (split_over_cluster ? rank_in_cluster() * merging_threads : 0) + threadIdx.x;
#pragma unroll
  for (int item = first_item; item < tile_q * row_items; item += sharers * merging_threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
    if (work.first_row + row >= output.rows(work)) break;
    const auto area_of = [&](int i) { return areas + i % groups * group_bytes; };
    const auto statistics = [&](int i) {
      const shared_address there = statistics_of(area_of(i), row);
      return split_over_cluster ? load_cluster_f32x2(address_in(i / groups, there)) : load_shared_f32x2(there);
    };
    const auto columns = [&](int i) {
      const shared_address there = area_of(i) + row * partial_row_bytes + column * 4;
      return split_over_cluster ? load_cluster_f32x4(address_in(i / groups, there)) : load_shared_f32x4(there);
    };
    const PartialRow merged = merged_row<sharers * groups>(statistics, columns);
    finish_columns(output, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum);
  }
}

// Of a warp's 16 rows from row `first_row` of the head on.
template <typename Output>
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
  for_each_part(acc_o, first_row, lane, [&](int r, int row, int column, float4 columns) {
    if (row < output.rows(work)) finish_columns(output, work, row, column, columns, row_max[r], row_sum[r]);
  });
}
