#pragma once
#include "include/attention/combine.cuh"

extern "C" __global__ void __launch_bounds__(128)
    f16_sdpa_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                     half_bits* __restrict__ o, int rows) {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const auto statistics_of = [&](long long row) { return partial_statistics[row]; };
  combine_rows(partial_o, rows, statistics_of, [&](int row, int column, const PartialRow& merged) {
    store_columns(o + (long long)row * head_dim + column, merged.acc, reciprocal(merged.row_sum));
  });
}
