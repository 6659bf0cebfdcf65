// What becomes of the accumulated rows: normalised output, or partial rows for the combining kernel.
struct Output {
  half_bits* o;
  float* partial_o;            // of each share of the keys: rows not yet divided by their sums,
  float2* partial_statistics;  // and their maxima (x) and sums (y)
  int S;
  int heads;
};

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  store_global_u32x2(to, ${dtype}x2_from_f32(acc.x * factor, acc.y * factor),
                     ${dtype}x2_from_f32(acc.z * factor, acc.w * factor));
}

// Of each 16 columns (eight accumulators, `acc`) a thread gets four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Accumulators are columns 2 quad + 0..1 of each eight: even lanes take their
// neighbour's of the first eight, odd lanes of the second.
__device__ __forceinline__ int column_of(int lane) { return (lane & 1) * 8 + (lane & 2) * 2; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int lane) {
  const float* first = acc + 2 * r;
  const float* second = first + 4;
  const bool odd = lane & 1;
  const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
  const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
  return odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
}
//% if merges || split_over_grid

// Rows whose keys were shared out: their sums are brought to one maximum.
struct PartialRow {
  float row_max = lowest_max;
  float row_sum = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};

  // row_max is the largest of all shares' already; statistics: maximum (x), sum (y).
  __device__ __forceinline__ void add(float2 statistics, float4 part) {
    const float share = exp2_approximate(statistics.x - row_max);
    row_sum = fmaf(share, statistics.y, row_sum);
    acc.x = fmaf(share, part.x, acc.x);
    acc.y = fmaf(share, part.y, acc.y);
    acc.z = fmaf(share, part.z, acc.z);
    acc.w = fmaf(share, part.w, acc.w);
  }
};
//% end

// Four columns of a row that no other part of the CTA has a share in.
//% if split_over_grid
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float row_max, float row_sum) {
  const long long partial_row = ((long long)work.split * output.heads + work.head) * output.S + row;
  store_global(output.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) output.partial_statistics[partial_row] = make_float2(row_max, row_sum);
}
//% else
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float, float row_sum) {
  store_columns(output.o + ((long long)work.head * output.S + row) * head_dim + column, acc, reciprocal(row_sum));
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
                                                   const float (&acc_o)[o_registers], const float (&row_max)[2],
                                                   const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      store_shared(area + row * partial_row_bytes + part * 64 + column_of(lane) * 4,
                   columns_of(acc_o + 8 * part, r, lane));
    }
    if (lane % 4 == 0) store_shared(statistics_of(area, row), make_float2(row_max[r], row_sum[r]));
  }
}

// ${split_over_cluster ? 'The CTAs of the cluster share the merged rows' : 'All threads share the merged rows'}, four columns at a time. `areas`: where those of the groups begin.
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
    PartialRow merged;
    float2 statistics[sharers * groups];
#pragma unroll
    for (int i = 0; i < sharers * groups; ++i) {
      const shared_address area = areas + i % groups * group_bytes;
//%   if split_over_cluster
      statistics[i] = load_cluster_f32x2(address_in(i / groups, statistics_of(area, row)));
//%   else
      statistics[i] = load_shared_f32x2(statistics_of(area, row));
//%   end
      merged.row_max = fmaxf(merged.row_max, statistics[i].x);
    }
#pragma unroll
    for (int i = 0; i < sharers * groups; ++i) {
      const shared_address part = areas + i % groups * group_bytes + row * partial_row_bytes + column * 4;
//%   if split_over_cluster
      merged.add(statistics[i], load_cluster_f32x4(address_in(i / groups, part)));
//%   else
      merged.add(statistics[i], load_shared_f32x4(part));
//%   end
    }
    finish_columns(output, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum);
  }
}
//% else

// Of a warp's 16 rows from row `first_row` of the head on.
__device__ __forceinline__ void store_rows(const Output& output, const Work& work, int first_row,
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      const float4 columns = columns_of(acc_o + 8 * part, r, lane);
      if (row < output.S) {
        finish_columns(output, work, row, 16 * part + column_of(lane), columns, row_max[r], row_sum[r]);
      }
    }
  }
}
//% end
