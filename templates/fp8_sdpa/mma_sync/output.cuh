// What becomes of the accumulated rows: normalised output, or partial results for the combining kernel.

//% include "include/attention/store_columns.cuh" with row_dtype = out

// Four columns of one row: `row` counts rows of all heads.
__device__ __forceinline__ void finish_columns(const Output& output, long long row, int column, float4 acc,
                                               float row_max, float row_sum) {
//% probe
  if constexpr (kv_split == 1) {
    if (column == 0 && !weights_are_codes) probed_sums[row] = logf(row_sum) + row_max * score_unit - weight_of_one;
    probed_rows[row * head_dim + column] = acc.x / row_sum;
    probed_rows[row * head_dim + column + 1] = acc.y / row_sum;
    probed_rows[row * head_dim + column + 2] = acc.z / row_sum;
    probed_rows[row * head_dim + column + 3] = acc.w / row_sum;
  }
//% end
  if constexpr (kv_split > 1) {
    const long long partial_row = output.first_partial_row + row;
    store_global(output.partial_o + partial_row * head_dim + column, acc);
    if (column == 0) {
      output.partial_max[partial_row] = row_max;
      output.partial_sum[partial_row] = row_sum;
    }
  } else {
    store_columns(output.o + row * head_dim + column, acc, output.v_scale * reciprocal(row_sum));
  }
}

__device__ __forceinline__ void finish_rows(const Output& output, const float (&acc_o)[m_tiles][o_tiles][4],
                                            const float (&row_max)[m_tiles][2],
                                            const float (&row_sum)[m_tiles][2], long long first_row,
                                            int warp_row, int rows, int lane) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + 16 * m + 8 * r + lane / 4;
      if (row >= rows) continue;
#pragma unroll
      for (int part = 0; part < o_tiles / 2; ++part) {
        finish_columns(output, first_row + row, column_of(part, lane % 4), part_of(acc_o[m], r, part),
                       row_max[m][r], row_sum[m][r]);
      }
    }
  }
}

// Groups leave their partial rows in shared memory: [group][row] accumulators, or normalised rows in f16, and then
// [group][row] pairs of maximum and sum. Rows are 64 bytes longer (f16: 32), which spreads them over the banks.
constexpr int slot_bytes = merges_in_f16 ? 8 : 16;  // of four columns
constexpr int partial_row_bytes = head_dim / 4 * slot_bytes + 4 * slot_bytes;

// Slot 4 part + quad of a row holds four columns.
__device__ __forceinline__ shared_address partial_address(shared_address smem, int group, int row, int slot) {
  return smem + (group * tile_q + row) * partial_row_bytes + slot * slot_bytes;
}

__device__ __forceinline__ shared_address statistics_address(shared_address smem, int group, int row) {
  return smem + warps_k * tile_q * partial_row_bytes + (group * tile_q + row) * 8;
}

__device__ __forceinline__ void leave_partial_rows(shared_address smem,
                                                   const float (&acc_o)[m_tiles][o_tiles][4],
                                                   const float (&row_max)[m_tiles][2],
                                                   const float (&row_sum)[m_tiles][2], int group,
                                                   int warp_row, int lane) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + 16 * m + 8 * r + lane / 4;
      const float factor = row_sum[m][r] > 0.0f ? reciprocal(row_sum[m][r]) : 0.0f;  // a group may have had no key
#pragma unroll
      for (int part = 0; part < o_tiles / 2; ++part) {
        const float4 acc = part_of(acc_o[m], r, part);
        const shared_address to = partial_address(smem, group, row, 4 * part + lane % 4);
        if constexpr (merges_in_f16) {
          store_shared(to, make_uint2(f16x2_from_f32(acc.x * factor, acc.y * factor),
                                      f16x2_from_f32(acc.z * factor, acc.w * factor)));
        } else {
          store_shared(to, acc);
        }
      }
      if (lane % 4 == 0)
        store_shared(statistics_address(smem, group, row), make_float2(row_max[m][r], row_sum[m][r]));
    }
  }
}

// All threads share the merged rows, four columns at a time.
__device__ __forceinline__ void merge_rows(const Output& output, shared_address smem, long long first_row,
                                           int rows) {
  constexpr int items = tile_q * head_dim / 4;
#pragma unroll
  for (int i = 0; i < (items + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / (head_dim / 4);
    const int slot = item % (head_dim / 4);
    if (row >= rows) break;
    float2 statistics[warps_k];  // x: maximum, y: sum
    float row_max = lowest_score;
#pragma unroll
    for (int group = 0; group < warps_k; ++group) {
      statistics[group] = load_shared_f32x2(statistics_address(smem, group, row));
      row_max = fmaxf(row_max, statistics[group].x);
    }
    float row_sum = 0.0f;
    float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int group = 0; group < warps_k; ++group) {
      float weight = shrink_by(statistics[group].x, row_max);
      float4 part;
      if constexpr (merges_in_f16) {
        weight *= statistics[group].y;
        const uint2 pairs = load_shared_u32x2(partial_address(smem, group, row, slot));
        part = make_float4(first_of(pairs.x), second_of(pairs.x), first_of(pairs.y), second_of(pairs.y));
        row_sum += weight;
      } else {
        part = load_shared_f32x4(partial_address(smem, group, row, slot));
        row_sum = fmaf(weight, statistics[group].y, row_sum);
      }
      acc.x = fmaf(weight, part.x, acc.x);
      acc.y = fmaf(weight, part.y, acc.y);
      acc.z = fmaf(weight, part.z, acc.z);
      acc.w = fmaf(weight, part.w, acc.w);
    }
    finish_columns(output, first_row + row, column_of(slot / 4, slot % 4), acc, row_max, row_sum);
  }
}
