//% if kv_split > 1
// Combines the partial rows of the CTAs that shared a query tile: each thread four columns of one row.
extern "C" __global__ void __launch_bounds__(128)
    sim_fp8_sdpa_combine(const float* __restrict__ partial_o, const float2* __restrict__ partial_statistics,
                         const float* __restrict__ v_scales, const unsigned char* __restrict__ v_zeros,
                         half_bits* __restrict__ o, int M, int rows) {
  if constexpr (${waits_for_launches}) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  constexpr int row_items = head_dim / 4;
  const long long item = (long long)blockIdx.x * 128 + threadIdx.x;
  const int row = (int)(item / row_items);
  const int column = (int)(item % row_items) * 4;
  if (row >= rows) return;
  PartialRow merged;
  float2 statistics[kv_split];
#pragma unroll
  for (int split = 0; split < kv_split; ++split) {
    statistics[split] = partial_statistics[(long long)split * rows + row];
    merged.row_max = fmaxf(merged.row_max, statistics[split].x);
  }
#pragma unroll
  for (int split = 0; split < kv_split; ++split) {
    merged.add(statistics[split], *reinterpret_cast<const float4*>(
                                      partial_o + ((long long)split * rows + row) * head_dim + column));
  }
  store_columns(o + (long long)row * head_dim + column, merged.acc, merged.row_sum,
                ValueScale(v_scales, v_zeros, row / M));
}
//% end
