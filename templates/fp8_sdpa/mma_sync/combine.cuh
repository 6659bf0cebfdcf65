//% if kv_split > 1
// The maximum of a row before its shares are merged.
constexpr float lowest_max = lowest_score;
#include "include/attention/merge.cuh"
#include "include/attention/combine.cuh"

extern "C" __global__ void __launch_bounds__(128)
    fp8_sdpa_combine(const float* __restrict__ partial_o, const float* __restrict__ partial_max,
                     const float* __restrict__ partial_sum, const float* __restrict__ v_scale,
                     half_bits* __restrict__ o, int rows, int S) {
  if constexpr (pdl) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const auto statistics_of = [&](long long row) { return make_float2(partial_max[row], partial_sum[row]); };
  combine_rows(partial_o, rows, statistics_of, [&](int row, int column, const PartialRow& merged) {
    store_columns(o + (long long)row * head_dim + column, merged.acc,
                  v_scale[${scales == 'head' ? 'row / S' : '0'}] * reciprocal(merged.row_sum));
  });
}
//% end
