// What becomes of the accumulated rows.
struct Arguments {
  const TensorMap& o_map;
  const e4m3* q;
  const float* q_scale;
  const float* k_scale;
  const float* v_scale;
  half_bits* o;
  float* partial_o;            // of each share of the keys: rows not yet divided by their sums,
  float2* partial_statistics;  // and their maxima (x) and sums (y)
  int S;
  int heads;
};

__device__ __forceinline__ uint2 rounded_columns(float4 acc, float factor) {
  return make_uint2(${out}x2_from_f32(acc.x * factor, acc.y * factor),
                    ${out}x2_from_f32(acc.z * factor, acc.w * factor));
}

__device__ __forceinline__ void store_columns(half_bits* to, float4 acc, float factor) {
  const uint2 columns = rounded_columns(acc, factor);
  store_global_u32x2(to, columns.x, columns.y);
}

// Of each 16 columns (eight accumulators, `acc`) a thread has four next to each other, from column_of(lane) on: of row
// `row` (r = 0) or `row + 8` (r = 1).
//% if v_path == 'given' || v_path == 'widened'
// Accumulators are columns 2 quad + 0..1 of each eight: even lanes take their neighbour's of the first eight, odd lanes
// of the second.
__device__ __forceinline__ int column_of(int lane) { return (lane & 1) * 8 + (lane & 2) * 2; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int lane) {
  const float* first = acc + 2 * r;
  const float* second = first + 4;
  const bool odd = lane & 1;
  const float x = __shfl_xor_sync(0xffffffffu, odd ? first[0] : second[0], 1);
  const float y = __shfl_xor_sync(0xffffffffu, odd ? first[1] : second[1], 1);
  return odd ? make_float4(x, y, second[0], second[1]) : make_float4(first[0], first[1], x, y);
}
//% else
// Even columns were rows 0-7 of the transposed values, odd ones rows 8-15.
__device__ __forceinline__ int column_of(int lane) { return lane % 4 * 4; }

__device__ __forceinline__ float4 columns_of(const float* acc, int r, int) {
  const float* even = acc + 2 * r;
  const float* odd = even + 4;
  return make_float4(even[0], odd[0], even[1], odd[1]);
}
//% end
//% if merges || split_over_grid

// Rows whose keys were shared out: their sums are brought to one maximum.
struct PartialRow {
  float row_max = lowest_score;
  float row_sum = 0.0f;
  float4 acc = {0.0f, 0.0f, 0.0f, 0.0f};

  // row_max is the largest of all shares' already; statistics: maximum (x), sum (y).
  __device__ __forceinline__ void add(float2 statistics, float4 part) {
    const float share = exp2_approximate((statistics.x - row_max) * (1.0f / units_per_octave));
    row_sum = fmaf(share, statistics.y, row_sum);
    acc.x = fmaf(share, part.x, acc.x);
    acc.y = fmaf(share, part.y, acc.y);
    acc.z = fmaf(share, part.z, acc.z);
    acc.w = fmaf(share, part.w, acc.w);
  }
};
//% end

// Four columns of a row that no other ${merges ? 'group' : 'warpgroup'} has a part in.
//% if split_over_grid
__device__ __forceinline__ void finish_columns(const Arguments& arguments, const Work& work, int row, int column,
                                               float4 acc, float row_max, float row_sum) {
  const long long partial_row = ((long long)work.split * arguments.heads + work.head) * arguments.S + row;
  store_global(arguments.partial_o + partial_row * head_dim + column, acc);
  if (column == 0) arguments.partial_statistics[partial_row] = make_float2(row_max, row_sum);
}
//% else
__device__ __forceinline__ void finish_columns(const Arguments& arguments, const Work& work, int row, int column,
                                               float4 acc, float, float row_sum) {
  store_columns(arguments.o + ((long long)work.head * arguments.S + row) * head_dim + column, acc,
                arguments.v_scale[${scales == 'head' ? 'work.head' : '0'}] * reciprocal(row_sum));
}
//% end
//% if !merges && epilogue == 'tma'

// Sixteen columns of the warp's 16 rows, the `part`-th of a swizzled panel of 64; factors: of rows 0-7 and 8-15.
//%   if v_path == 'given' || v_path == 'widened'
// Accumulators lie as stmatrix takes them: matrix 2 half + r is eight columns of eight rows.
__device__ __forceinline__ void stage_columns(shared_address panel, int part, const float* acc,
                                              const float (&factors)[2], int lane) {
  const int row = threadIdx.x / 32 % 4 * 16 + lane % 16;
  store_matrices(panel + xor_offset<128>(row, 2 * part + lane / 16),
                 ${out}x2_from_f32(acc[0] * factors[0], acc[1] * factors[0]),
                 ${out}x2_from_f32(acc[2] * factors[1], acc[3] * factors[1]),
                 ${out}x2_from_f32(acc[4] * factors[0], acc[5] * factors[0]),
                 ${out}x2_from_f32(acc[6] * factors[1], acc[7] * factors[1]));
}
//%   else
// A thread has four columns next to each other, half a chunk, where stmatrix would take two.
__device__ __forceinline__ void stage_columns(shared_address panel, int part, const float* acc,
                                              const float (&factors)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
    store_shared(panel + xor_offset<128>(row, 2 * part + lane % 4 / 2) + lane % 2 * 8,
                 rounded_columns(columns_of(acc, r, lane), factors[r]));
  }
}
//%   end

// Through shared memory: each warpgroup's 64 rows in panels of 64 columns, swizzled, and from there by TMA.
__device__ __forceinline__ void store_rows(const SharedMemory& smem, const Arguments& arguments, const Work& work,
                                           int row_part, const float (&acc_o)[o_registers],
                                           const float (&row_max)[2], const float (&row_sum)[2], int lane) {
  constexpr int staging_panel = 64 * 128;
  const shared_address staging = smem.output() + row_part * (64 * head_dim * 2);
  const bool stores = threadIdx.x % 128 == 0;
//%   if persistent
  if (stores) wait_for_stores_to_leave();
  sync_at(staging_barrier + row_part, 128);
//%   end
  const float v_scale = arguments.v_scale[${scales == 'head' ? 'work.head' : '0'}];
  const float factors[2] = {v_scale * reciprocal(row_sum[0]), v_scale * reciprocal(row_sum[1])};
#pragma unroll
  for (int part = 0; part < head_dim / 16; ++part) {
    stage_columns(staging + part / 4 * staging_panel, part % 4, acc_o + 8 * part, factors, lane);
  }
  publish_to_async_proxy();
  sync_at(staging_barrier + row_part, 128);
  if (stores) {
#pragma unroll
    for (int p = 0; p < head_dim / 64; ++p) {
      store_box(arguments.o_map, staging + p * staging_panel, 64 * p, work.first_row + 64 * row_part, work.head);
    }
    commit_stores();
  }
}
//% elif !merges

__device__ __forceinline__ void store_rows(const Arguments& arguments, const Work& work, int row_part,
                                           const float (&acc_o)[o_registers], const float (&row_max)[2],
                                           const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = work.first_row + row_part * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      const float4 columns = columns_of(acc_o + 8 * part, r, lane);
      if (row < arguments.S) {
        finish_columns(arguments, work, row, 16 * part + column_of(lane), columns, row_max[r], row_sum[r]);
      }
    }
  }
}
//% else

// Partial rows of a group: [row] accumulators (64 bytes more than a row spread the rows over the banks), then
// [row] pairs of maximum and sum.
constexpr int partial_row_bytes = head_dim * 4 + 64;

__device__ __forceinline__ shared_address statistics_of(const SharedMemory& smem, int group, int row) {
  return smem.group(group) + tile_q * partial_row_bytes + row * 8;
}

__device__ __forceinline__ void leave_partial_rows(const SharedMemory& smem, int group, int row_part,
                                                   const float (&acc_o)[o_registers], const float (&row_max)[2],
                                                   const float (&row_sum)[2], int lane) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = row_part * 64 + threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * r;
#pragma unroll
    for (int part = 0; part < head_dim / 16; ++part) {
      store_shared(smem.group(group) + row * partial_row_bytes + part * 64 + column_of(lane) * 4,
                   columns_of(acc_o + 8 * part, r, lane));
    }
    if (lane % 4 == 0) store_shared(statistics_of(smem, group, row), make_float2(row_max[r], row_sum[r]));
  }
}

// The consumers${split_over_cluster ? ' of all CTAs of the cluster' : ''} share the merged rows, four columns at a time.
__device__ __forceinline__ void merge_rows(const SharedMemory& smem, const Arguments& arguments, const Work& work) {
  constexpr int row_items = head_dim / 4;
//%   if split_over_cluster
  constexpr int sharers = kv_split;
  const int first_item = rank_in_cluster() * consumer_threads + threadIdx.x;
//%   else
  constexpr int sharers = 1;
  const int first_item = threadIdx.x;
//%   end
#pragma unroll
  for (int item = first_item; item < tile_q * row_items; item += sharers * consumer_threads) {
    const int row = item / row_items;
    const int column = item % row_items * 4;
    if (work.first_row + row >= arguments.S) break;
    PartialRow merged;
    float2 statistics[sharers * groups];
#pragma unroll
    for (int i = 0; i < sharers * groups; ++i) {
//%   if split_over_cluster
      statistics[i] = load_cluster_f32x2(address_in(i / groups, statistics_of(smem, i % groups, row)));
//%   else
      statistics[i] = load_shared_f32x2(statistics_of(smem, i, row));
//%   end
      merged.row_max = fmaxf(merged.row_max, statistics[i].x);
    }
#pragma unroll
    for (int i = 0; i < sharers * groups; ++i) {
      const shared_address part = smem.group(i % groups) + row * partial_row_bytes + column * 4;
//%   if split_over_cluster
      merged.add(statistics[i], load_cluster_f32x4(address_in(i / groups, part)));
//%   else
      merged.add(statistics[i], load_shared_f32x4(part));
//%   end
    }
    finish_columns(arguments, work, work.first_row + row, column, merged.acc, merged.row_max, merged.row_sum);
  }
}
//% end
