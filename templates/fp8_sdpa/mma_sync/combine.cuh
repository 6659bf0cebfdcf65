// Combines the partial results of the CTAs that shared a query tile: each thread four columns of one row.
extern "C" __global__ void __launch_bounds__(128)
    fp8_sdpa_combine(const float* __restrict__ partial_o, const float* __restrict__ partial_max,
                     const float* __restrict__ partial_sum, const float* __restrict__ v_scale,
                     half_bits* __restrict__ o, int rows, int S) {
//% if sm >= 90 && pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  constexpr int row_items = head_dim / 4;
  const long long item = (long long)blockIdx.x * 128 + threadIdx.x;
  const int row = (int)(item / row_items);
  const int column = (int)(item % row_items) * 4;
  if (row >= rows) return;

  float split_max[kv_split];
  float row_max = lowest_score;
#pragma unroll
  for (int split = 0; split < kv_split; ++split) {
    split_max[split] = partial_max[(long long)split * rows + row];
    row_max = fmaxf(row_max, split_max[split]);
  }
  float row_sum = 0.0f;
  float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int split = 0; split < kv_split; ++split) {
    const long long partial_row = (long long)split * rows + row;
    const float weight = exp2_approximate((split_max[split] - row_max) * (1.0f / units_per_octave));
    const float4 part = *reinterpret_cast<const float4*>(partial_o + partial_row * head_dim + column);
    row_sum = fmaf(weight, partial_sum[partial_row], row_sum);
    acc.x = fmaf(weight, part.x, acc.x);
    acc.y = fmaf(weight, part.y, acc.y);
    acc.z = fmaf(weight, part.z, acc.z);
    acc.w = fmaf(weight, part.w, acc.w);
  }
  const float scale = v_scale[${scales == 'head' ? 'row / S' : '0'}];
  store_output(o + (long long)row * head_dim + column, acc, scale * reciprocal(row_sum));
}
