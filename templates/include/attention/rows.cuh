// What becomes of the accumulated rows: normalised output, or partial rows for the combining kernel. `Output` has o, S,
// heads, and of each share of the keys partial_o, rows not yet divided by their sums, and partial_statistics, their
// maxima (x) and sums (y). row_factor is what a row is multiplied by at last.
//% if merges || split_over_grid

//%   include "include/attention/merge.cuh"
//% end

// Four columns of a row that no other part of the CTA has a share in.
//% if split_over_grid
template <typename Output>
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float row_max, float row_sum) {
  const long long partial_row = ((long long)work.split * output.heads + work.head) * output.S + row;
  store_global(output.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) output.partial_statistics[partial_row] = make_float2(row_max, row_sum);
}
//% else
template <typename Output>
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float, float row_sum) {
  store_columns(output.o + ((long long)work.head * output.S + row) * head_dim + column, acc,
                row_factor(output, work, row_sum));
}
//% end
//% if merges

// Partial rows of a group, in its area of shared memory: [row] accumulators (64 bytes more than a row spread the rows
// over the banks), then [row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;

__device__ __forceinline__ shared_address statistics_of(shared_address area, int row) {
  return area + tile_q * partial_row_bytes + row * 8;
}

// Of a warp's 16 rows from `first_row` of the CTA's on.
__device__ __forceinline__ void leave_partial_rows(shared_address area, int first_row,
//% else

// Of a warp's 16 rows from row `first_row` of the head on.
template <typename Output>
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
//% end
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
//% if merges
      store_shared(area + row * partial_row_bytes + part * 64 + column_of(lane) * 4,
                   columns_of(acc_o + 8 * part, r, lane));
//% else
      const float4 columns = columns_of(acc_o + 8 * part, r, lane);
      if (row < output.S) {
        finish_columns(output, work, row, 16 * part + column_of(lane), columns, row_max[r], row_sum[r]);
      }
//% end
    }
//% if merges
    if (lane % 4 == 0) store_shared(statistics_of(area, row), make_float2(row_max[r], row_sum[r]));
//% end
  }
}
//% if merges

// The merging threads${split_over_cluster ? ' of all CTAs of the cluster' : ''} share the merged rows, four columns at a time.
// `areas`: where those of the groups begin.
template <typename Output>
__device__ __forceinline__ void merge_rows(shared_address areas, const Output& output, const Work& work) {
  constexpr int row_items = head_dim / 4;
//%   if split_over_cluster
  constexpr int sharers = kv_split;
  const int first_item = rank_in_cluster() * merging_threads + threadIdx.x;
//%   else
  constexpr int sharers = 1;
  const int first_item = threadIdx.x;
//%   end
#pragma unroll
  for (int item = first_item; item < tile_q * row_items; item += sharers * merging_threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
    if (work.first_row + row >= output.S) break;
    const auto area_of = [&](int i) { return areas + i % groups * group_bytes; };
//%   if split_over_cluster
    const PartialRow merged = merged_row<sharers * groups>(
        [&](int i) { return load_cluster_f32x2(address_in(i / groups, statistics_of(area_of(i), row))); },
        [&](int i) {
          return load_cluster_f32x4(address_in(i / groups, area_of(i) + row * partial_row_bytes + column * 4));
        });
//%   else
    const PartialRow merged = merged_row<sharers * groups>(
        [&](int i) { return load_shared_f32x2(statistics_of(area_of(i), row)); },
        [&](int i) { return load_shared_f32x4(area_of(i) + row * partial_row_bytes + column * 4); });
//%   end
    finish_columns(output, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum);
  }
}
//% end
