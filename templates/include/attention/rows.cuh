#pragma once
// What becomes of the accumulated rows: normalised output, or partial rows for the combining kernel. `Output` has o, S,
// heads, and of each share of the keys partial_o, rows not yet divided by their sums, and partial_statistics, their
// maxima (x) and sums (y). row_factor is what a row is multiplied by at last.
#include "include/attention/merge.cuh"

// Four columns of a row that no other part of the CTA has a share in.
template <typename Output>
__device__ __forceinline__ void finish_columns(const Output& output, const Work& work, int row, int column, float4 acc,
                                               float row_max, float row_sum) {
  if constexpr (split_over_grid) {
    const long long partial_row = ((long long)work.split * output.heads + work.head) * output.S + row;
    store_global(output.partial_o + partial_row * head_dim + column, acc);
    if (column == 0) output.partial_statistics[partial_row] = make_float2(row_max, row_sum);
  } else {
    store_columns(output.o + ((long long)work.head * output.S + row) * head_dim + column, acc,
                  row_factor(output, work, row_sum));
  }
}

#include "include/attention/row_parts.cuh"
