// What becomes of the accumulated rows.

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  store_global_u32x2(to, ${out}x2_from_f32(acc.x * factor, acc.y * factor),
                     ${out}x2_from_f32(acc.z * factor, acc.w * factor));
}

// Columns 16 part + 4 quad + 0..3 of row `row` (r = 0) or `row + 8` (r = 1): even columns were rows 0-7 of the transposed
// values, odd ones rows 8-15.
__device__ __forceinline__ float4 columns_of(const float (&acc_o)[o_registers], int r, int part) {
  const float* even = acc_o + 8 * part + 2 * r;
  const float* odd = even + 4;
  return make_float4(even[0], odd[0], even[1], odd[1]);
}
//% if warpgroups_k == 1

__device__ __forceinline__ void store_rows(half_bits* o, int head, int S, int first_row,
                                           const float (&acc_o)[o_registers], const float (&row_sum)[2], float v_scale,
                                           int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = blockIdx.x * tile_q + first_row + 8 * r;
    if (row >= S) continue;
    const float factor = v_scale * reciprocal(row_sum[r]);
    half_bits* to = o + ((long long)head * S + row) * head_dim + 4 * (lane % 4);
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) store_columns(to + 16 * part, columns_of(acc_o, r, part), factor);
  }
}
//% else

// Partial rows of a group: [row] accumulators (64 bytes more than a row spread the rows over the banks), then
// [row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;

__device__ __forceinline__ shared_address statistics_of(const SharedMemory& smem, int group, int row) {
  return smem.group(group) + tile_q * partial_row_bytes + row * 8;
}

__device__ __forceinline__ void leave_partial_rows(const SharedMemory& smem, int group, int first_row,
                                                   const float (&acc_o)[o_registers], const float (&row_max)[2],
                                                   const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      store_shared(smem.group(group) + row * partial_row_bytes + part * 64 + lane % 4 * 16, columns_of(acc_o, r, part));
    }
    if (lane % 4 == 0) store_shared(statistics_of(smem, group, row), make_float2(row_max[r], row_sum[r]));
  }
}

// All consumers share the merged rows, four columns at a time.
__device__ __forceinline__ void merge_rows(const SharedMemory& smem, half_bits* o, int head, int S, float v_scale) {
  constexpr int row_items = head_dim / 4;
#pragma unroll
  for (int item = threadIdx.x; item < tile_q * row_items; item += consumer_threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
    if (blockIdx.x * tile_q + row >= S) break;
    float2 statistics[groups];  // x: maximum, y: sum
    float row_max = lowest_score;
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      statistics[group] = load_shared_f32x2(statistics_of(smem, group, row));
      row_max = fmaxf(row_max, statistics[group].x);
    }
    float row_sum = 0.0f;
    float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      const float share = exp2_approximate((statistics[group].x - row_max) * (1.0f / units_per_octave));
      const float4 part = load_shared_f32x4(smem.group(group) + row * partial_row_bytes + column * 4);
      row_sum = fmaf(share, statistics[group].y, row_sum);
      acc.x = fmaf(share, part.x, acc.x);
      acc.y = fmaf(share, part.y, acc.y);
      acc.z = fmaf(share, part.z, acc.z);
      acc.w = fmaf(share, part.w, acc.w);
    }
    store_columns(o + ((long long)head * S + blockIdx.x * tile_q + row) * head_dim + column, acc,
                  v_scale * reciprocal(row_sum));
  }
}
//% end
