#pragma once
//% takes columns, value_unit = '', largest_weight = '256.0f'
// What becomes of the accumulated rows: output and log-sum-exp, or partial rows for the combining kernel.
struct Arguments : Problem {
  const e4m3* q;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  half_bits* o;
  float* lse;
  float* partial_o;
  float2* partial_statistics;
};

//% include "include/attention/store_columns.cuh" with row_dtype = 'bf16'
#include "include/attention/columns.cuh"
#include "include/attention/e4m3/columns.cuh"
typedef ${columns} Columns;
#include "include/attention/merge.cuh"

// Four columns of a row whose keys have all been seen. Rows that see no key have sum 0: their output is 0.
__device__ __forceinline__ void finish_row(const Problem& problem, const Work& work, int row, int column, float4 acc,
                                           float row_max, float row_sum, const float* v_scale, half_bits* o,
                                           float* lse) {
  const int position = problem.position(row);
  const int head = problem.query_head(work, row);
  const float factor = row_sum > 0.0f ? ${value_unit}v_scale[problem.kv_scale_index(work)] * reciprocal(row_sum) : 0.0f;
  store_columns(o + problem.tensor_batch(work) * problem.o_batch + (long long)head * problem.o_head +
                    (long long)(problem.first_query(work) + position) * problem.o_row + column,
                acc, factor);
  if (log_sum_exp && column == 0) {
    constexpr float ln_2 = 0.69314718f;
    constexpr float largest_weight = ${largest_weight};  // that of the row's maximum
    const float natural = fmaf(row_max, ln_2 / units_per_octave, logf(row_sum * (1.0f / largest_weight)));
    lse[((long long)problem.tensor_batch(work) * problem.heads + head) * problem.S_q + problem.first_query(work) +
        position] = row_sum > 0.0f ? natural : -3.4028235e38f;
  }
}

// Of all heads and batches.
__device__ __forceinline__ long long all_rows(const Problem& problem) {
  return (long long)problem.rows_of(problem.S_q) * problem.row_heads()${cu_seqlens ? '' : ' * problem.batches'};
}

// Four columns of a row that no other part of the CTA has a share in.
__device__ __forceinline__ void finish_columns(const Arguments& arguments, const Work& work, int row, int column,
                                               float4 acc, float row_max, float row_sum) {
  if constexpr (split_over_grid) {
    const long long partial_row = work.split * all_rows(arguments) + arguments.rows_before(work) + row;
    store_global(arguments.partial_o + partial_row * head_dim + column, acc);
    if (column == 0) arguments.partial_statistics[partial_row] = make_float2(row_max, row_sum);
  } else {
    finish_row(arguments, work, row, column, acc, row_max, row_sum, arguments.v_scale, arguments.o, arguments.lse);
  }
}

#include "include/attention/row_parts.cuh"
