// What becomes of the accumulated rows: output and log-sum-exp, or partial rows for the combining kernel.
struct Arguments {
  const e4m3* q;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  half_bits* o;
  float* lse;
  float* partial_o;
  float2* partial_statistics;
  const Problem& problem;
};

//% let row_dtype = 'bf16'
//% include "include/attention/store_columns.cuh"

//% if v_path == 'widened'
//%   include "include/attention/columns.cuh"
//% else
// Of each 16 columns (eight accumulators, `acc`) a thread has four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1). Even columns were rows 0-7 of the transposed values, odd ones rows 8-15.
__device__ __forceinline__ int column_of(int lane) { return lane % 4 * 4; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int) {
  const float* even = acc + 2 * r;
  const float* odd = even + 4;
  return make_float4(even[0], odd[0], even[1], odd[1]);
}
//% end
//% if merges || split_over_grid

//%   include "include/attention/merge.cuh"
//% end

// Four columns of a row whose keys have all been seen. Rows that see no key have sum 0: their output is 0.
__device__ __forceinline__ void finish_row(const Problem& problem, const Work& work, int row, int column, float4 acc,
                                           float row_max, float row_sum, const float* v_scale, half_bits* o,
                                           float* lse) {
  const int position = problem.position(row);
  const int head = problem.query_head(work, row);
  const float factor = row_sum > 0.0f ? v_scale[problem.kv_scale_index(work)] * reciprocal(row_sum) : 0.0f;
  store_columns(o + problem.tensor_batch(work) * problem.o_batch + (long long)head * problem.o_head +
                    (long long)(problem.first_query(work) + position) * problem.o_row + column,
                acc, factor);
//% if log_sum_exp
  if (column == 0) {
    constexpr float ln_2 = 0.69314718f;
    constexpr float largest_weight = 256.0f;  // that of the row's maximum
    const float natural = fmaf(row_max, ln_2 / units_per_octave, logf(row_sum * (1.0f / largest_weight)));
    lse[((long long)problem.tensor_batch(work) * problem.heads + head) * problem.S_q + problem.first_query(work) +
        position] = row_sum > 0.0f ? natural : -3.4028235e38f;
  }
//% end
}

//% if split_over_grid
// Of all heads and batches.
__device__ __forceinline__ long long all_rows(const Problem& problem) {
  return (long long)problem.rows_of(problem.S_q) * problem.row_heads()${cu_seqlens ? '' : ' * problem.batches'};
}

//% end
// Four columns of a row that no other part of the CTA has a share in.
__device__ __forceinline__ void finish_columns(const Arguments& arguments, const Work& work, int row, int column,
                                               float4 acc, float row_max, float row_sum) {
  const Problem& problem = arguments.problem;
//% if split_over_grid
  const long long partial_row = work.split * all_rows(problem) + problem.rows_before(work) + row;
  store_global(arguments.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) arguments.partial_statistics[partial_row] = make_float2(row_max, row_sum);
//% else
  finish_row(problem, work, row, column, acc, row_max, row_sum, arguments.v_scale, arguments.o, arguments.lse);
//% end
}
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

// The merging threads${split_over_cluster ? ' of all CTAs of the cluster' : ''} share the merged rows, four columns at a time.
// `areas`: where those of the groups begin.
__device__ __forceinline__ void merge_rows(shared_address areas, const Arguments& arguments, const Work& work) {
  constexpr int row_items = head_dim / 4;
//%   if split_over_cluster
  constexpr int sharers = kv_split;
  const int first_item = rank_in_cluster() * merging_threads + threadIdx.x;
//%   else
  constexpr int sharers = 1;
  const int first_item = threadIdx.x;
//%   end
  const int rows = min(tile_q, arguments.problem.rows(work) - work.first_row);
  for (int item = first_item; item < rows * row_items; item += sharers * merging_threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
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
    finish_columns(arguments, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum);
  }
}
//% else

// Of a warp's 16 rows from row `first_row` of the head on.
__device__ __forceinline__ void store_rows(const Arguments& arguments, const Work& work, int first_row,
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      const float4 columns = columns_of(acc_o + 8 * part, r, lane);
      if (row < arguments.problem.rows(work)) {
        finish_columns(arguments, work, row, 16 * part + column_of(lane), columns, row_max[r], row_sum[r]);
      }
    }
  }
}
//% end
