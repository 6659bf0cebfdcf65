//% if split_over_grid
#include "include/attention/combine.cuh"

extern "C" __global__ void __launch_bounds__(128)
    fp8_sdpa_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                     const float* __restrict__ v_scale, half_bits* __restrict__ o, int rows, int S) {
  if constexpr (pdl != DependentLaunch::none) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const auto statistics_of = [&](long long row) { return partial_statistics[row]; };
  combine_rows(partial_o, rows, statistics_of, [&](int row, int column, const PartialRow& merged) {
    store_columns(o + (long long)row * head_dim + column, merged.acc,
                  v_scale[scale_of_each_head ? row / S : 0] * reciprocal(merged.row_sum));
  });
}
//% end
