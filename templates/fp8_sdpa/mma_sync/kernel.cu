// fp8_sdpa/mma_sync: o = softmax(q k^T / sqrt(D)) v with e4m3 q, k, v and one scale a ${scales}, in one pass
// over the keys. A CTA has ${tile_q} query rows of one head: ${warps_q} warp(s) side by side over the rows,
// ${warps_k} group(s) of them over the keys. docs/kernels/mma_sync.md tells the algorithm and the layouts.
//% if mask == 'causal'
// Row i attends to keys 0 to i: tiles beyond the CTA's last row are skipped.
//% end

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/math.cuh"
#include "include/warp.cuh"
#include "include/grid_dependency.cuh"

constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                       // query rows of the CTA
constexpr int tile_k = ${tile_k};                       // keys of one tile
constexpr int warps_q = ${warps_q};                     // warps of a group
constexpr int warps_k = ${warps_k};                     // groups
//% if kv_split > 1
constexpr int kv_split = ${kv_split};                   // CTAs that share the keys of a query tile
//% end
constexpr int m_tiles = ${m_tiles};                     // tiles of 16 query rows of a warp
constexpr int key_tiles = tile_k / 8;                   // score tiles of 8 keys
constexpr int o_tiles = head_dim / 8;                   // output tiles of 8 columns
constexpr int group_threads = 32 * warps_q;
//% if register_cap == 0 || q_operand != 'global' || warps_k > 1
constexpr int threads = group_threads * warps_k;
//% end
//% if copy != 'direct'
constexpr int stages = ${stages};                       // key and value tiles in shared memory for each group
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int v_tile_bytes = ${v_tile_bytes};             // of a value tile
constexpr int q_bytes = ${q_bytes};                     // of the query tile
constexpr int group_bytes = ${group_bytes};             // of a group's tiles
//% end
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of
// sight, and the others are all but equal.
constexpr float smallest_scale = 1e-20f;

struct Output {
//% if kv_split > 1
  float* partial_o;  // [split][row of all heads][head_dim], not normalised
  float* partial_max;
  float* partial_sum;
  long long first_partial_row;
//% else
  half_bits* o;
  float v_scale;
//% end
};

//% slot exponential

//% probe
constexpr float score_unit = 1.0f / (1.4426950408889634f * units_per_octave);  // of row_max, in natural logarithms
constexpr float weight_of_one = ${pv_math == 'e4m3' ? p_exponent : 0} * 0.6931471805599453f;
__device__ float* probed_sums;
__device__ float* probed_rows;

//% end
//% if kv_split > 1
// The maximum of a row before its shares are merged.
constexpr float lowest_max = lowest_score;

//% end
// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) {
  return exp2_approximate((old_max - new_max) * (1.0f / units_per_octave));
}

// Rows follow their tile's maximum: what they have accumulated shrinks by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], const float (&tile_max)[2],
                                                float (&row_sum)[2], float (&acc_o)[o_tiles][4]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    const float shrink = shrink_by(row_max[r], new_max);
    row_max[r] = new_max;
    row_sum[r] *= shrink;
#pragma unroll
    for (int n = 0; n < o_tiles; ++n) {
      acc_o[n][2 * r] *= shrink;
      acc_o[n][2 * r + 1] *= shrink;
    }
  }
}

// Whether 16 rows follow their tile's maximum.
//% slot rescale

__device__ __forceinline__ void raise_row_max(float (&row_max)[m_tiles][2], const float (&tile_max)[m_tiles][2],
                                              float (&row_sum)[m_tiles][2], float (&acc_o)[m_tiles][o_tiles][4]) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    if (follows(row_max[m], tile_max[m])) follow_tile_max(row_max[m], tile_max[m], row_sum[m], acc_o[m]);
  }
}

//% if copy != 'direct'
#include "include/attention/sync_group.cuh"

#include "include/tiles.cuh"

//% end
//% if copy == 'plain' && prefetch
#include "prefetch.cuh"

//% end

#include "include/row_product.cuh"

#include "scores.cuh"

//% probe
// Calls `body` for each of the warp's scores that counts, the i-th of tile n of the m-th 16 rows, with its row and key.
template <typename Body>
__device__ __forceinline__ void for_each_score(int warp_first_row, int first_key, int S, int lane, const Body& body) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = warp_first_row + 16 * m + i / 2 * 8 + lane / 4;
        const int key = first_key + key_at(8 * n + 2 * (lane % 4) + i % 2);
        if (row < S && key < ${mask == 'causal' ? 'row + 1' : 'S'}) body(m, n, i, row, key);
      }
    }
  }
}

//% end
//% if v_layout == 'transposed'
// Of each 16 rows, pairs go to the first eight and to the other eight in turn.
struct DealtInPairs {
  static __device__ __forceinline__ int row(int position) {
    return position / 16 * 16 + position / 2 % 4 * 4 + position / 8 % 2 * 2 + position % 2;
  }
};

//%   if copy != 'direct'
typedef DealtInPairs KeyOrder;  // as key_at has them

//%   end
//% elif copy != 'direct'
typedef InOrder KeyOrder;

//% end
#include "value_product.cuh"

//% if copy == 'direct'
#include "direct.cuh"

//% end

#include "output.cuh"

//% if register_cap > 0
extern "C" __global__ void fp8_sdpa(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) fp8_sdpa(
//% end
//% probe
    float* probe_scores, float* probe_weights, float* probe_sums, float* probe_rows,
//% end
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const e4m3* __restrict__ v,
    const float* __restrict__ q_scale, const float* __restrict__ k_scale, const float* __restrict__ v_scale,
    half_bits* __restrict__ o, float* __restrict__ partial_o, float* __restrict__ partial_max,
    float* __restrict__ partial_sum, int S) {
//% if copy != 'direct' || warps_k > 1
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
//% end
  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
//% if copy != 'direct'
  const int group_thread = threadIdx.x % group_threads;
//% end
  const int head = blockIdx.y;
//% if mask == 'causal'
  const int first_row = (gridDim.x - 1 - blockIdx.x) * tile_q;  // the longest first: none is left for the end
//% else
  const int first_row = blockIdx.x * tile_q;
//% end
  const int warp_row = warp_q * 16 * m_tiles;

//% if copy != 'direct'
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
//% end
//% if v_operand == 'fragments'
  const shared_address v_fragments = v_tiles + stages * v_tile_bytes;
//% end

//% probe
  probed_sums = probe_sums;
  probed_rows = probe_rows;
//% end
//% if sm >= 90 && pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  const long long head_start = (long long)head * S * head_dim;
  const e4m3* q_head = q + head_start;
  const e4m3* k_head = k + head_start;
//% if v_layout == 'transposed'
  const e4m3* v_head = v + head * (head_dim * padded(S));
//% else
  const e4m3* v_head = v + head_start;
//% end

  // The CTA's share of the key tiles; of these, every warps_k-th is this group's.
//% if mask == 'causal'
  const int all_tiles = (min(S, first_row + tile_q) + tile_k - 1) / tile_k;
//% else
  const int all_tiles = (S + tile_k - 1) / tile_k;
//% end
//% if kv_split > 1
  const int split_tiles = (all_tiles + kv_split - 1) / kv_split;
  const int first_tile = min(all_tiles, (int)blockIdx.z * split_tiles);
  const int end_tile = min(all_tiles, first_tile + split_tiles);
//% else
  const int first_tile = 0;
  const int end_tile = all_tiles;
//% end
  const int tiles = max(0, (end_tile - first_tile - group + warps_k - 1) / warps_k);
//% if kv_order == 'forward'
  const auto first_key_of = [&](int i) { return (first_tile + group + i * warps_k) * tile_k; };
//% else
  const auto first_key_of = [&](int i) { return (end_tile - 1 - group - i * warps_k) * tile_k; };
//% end

//% if q_operand != 'global'
  copy_tile<tile_q, threads>(smem, q_head, first_row, S, threadIdx.x);
//%   if copy == 'cp_async'
  commit_copies();
//%   end
//% end
//% if copy == 'cp_async'
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is
  // the same all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_k, group_threads, KeyOrder>(k_tiles + stage * tile_bytes, k_head, first_key_of(i), S,
                                                 group_thread);
    }
//%   if arrival == 'split'
    commit_copies();
//%   end
    if (i < tiles) {
      copy_values(v_tiles + stage * v_tile_bytes, v_head, first_key_of(i), S, group_thread);
    }
    commit_copies();
  };
//%   if arrival == 'split'
  constexpr int tile_groups = 2;  // copy groups of a tile
//%   else
  constexpr int tile_groups = 1;
//%   end
#pragma unroll
  for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
//% elif copy == 'direct'
  KeyTile keys;
  ValueTile values;
//%   if prefetch
  if (tiles > 0) {
    load_key_tile(keys, k_head, first_key_of(0), S, lane);
//%     if arrival == 'together'
    load_value_tile(values, v_head, first_key_of(0), S, lane);
//%     end
  }
//%   end
//% elif prefetch
  uint4 next_k[prefetched_chunks];
  uint4 next_v[prefetched_chunks];
  if (tiles > 0) {
    fetch_tile<KeyOrder>(next_k, k_head, first_key_of(0), S, group_thread);
    fetch_values(next_v, v_head, first_key_of(0), S, group_thread);
  }
//% end

//% let scale = scales == 'head' ? 'head' : '0'
  // 1 / sqrt(head_dim)
  constexpr float inverse_root = ${D == 64 ? '0.125f' : D == 128 ? '0.08838834764831845f' : '0.0625f'};
  constexpr float log2_e = 1.4426950408889634f;
  const float scale = fmaxf(
      q_scale[${scale}] * k_scale[${scale}] * (inverse_root * log2_e * units_per_octave), smallest_scale);

//% if q_operand == 'global'
  RowsHalf query[halves][m_tiles];
  load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
    load_rows_half(rows, q_head, first_row + warp_row + 16 * m, S, half, lane);
  });
//% else
//%   if copy == 'cp_async'
  wait_for_copies<stages * tile_groups>();
//%   end
  __syncthreads();
//%   if q_operand == 'registers'
  RowsHalf query[halves][m_tiles];
  load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
    load_rows_half(rows, smem, warp_row + 16 * m, half, lane);
  });
//%   end
//% end

  float acc_o[m_tiles][o_tiles][4] = {};
  float row_sum[m_tiles][2] = {};
  float row_max[m_tiles][2];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) row_max[m][0] = row_max[m][1] = lowest_score;

//% if stages > 1
  int stage = 0;
//% elif copy != 'direct'
  constexpr int stage = 0;
//% end
#pragma unroll ${unroll}
  for (int i = 0; i < tiles; ++i) {
    const int first_key = first_key_of(i);
//% if copy != 'direct'
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    const shared_address v_tile = v_tiles + stage * v_tile_bytes;
//% end
//% if copy == 'cp_async'
    wait_for_copies<stages * tile_groups - 1>();
    sync_group(group);
//% elif copy == 'direct'
//%   if !prefetch
    load_key_tile(keys, k_head, first_key, S, lane);
//%     if arrival == 'together'
    load_value_tile(values, v_head, first_key, S, lane);
//%     end
//%   end
//% elif prefetch
    sync_group(group);  // the tile before is done with
    put_tile(k_tile, next_k, group_thread);
    put_values(v_tile, next_v, group_thread);
    sync_group(group);
    if (i + 1 < tiles) {
      fetch_tile<KeyOrder>(next_k, k_head, first_key_of(i + 1), S, group_thread);
      fetch_values(next_v, v_head, first_key_of(i + 1), S, group_thread);
    }
//% else
    sync_group(group);  // the tile before is done with
    copy_tile<tile_k, group_threads, KeyOrder>(k_tile, k_head, first_key, S, group_thread);
    copy_values(v_tile, v_head, first_key, S, group_thread);
    sync_group(group);
//% end

    float scores[m_tiles][key_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
//% if copy == 'direct'
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        codes[0] = keys[half][n].x;
        codes[1] = keys[half][n].y;
        codes[2] = keys[half][n].z;
        codes[3] = keys[half][n].w;
      };
//% else
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        load_8_rows_half(codes, k_tile, 8 * n, half, lane);
      };
//% end
//% if q_operand == 'smem'
      RowsHalf query[m_tiles];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) load_rows_half(query[m], smem, warp_row + 16 * m, half, lane);
      multiply_half(scores, query, load_keys);
//% else
      multiply_half(scores, query[half], load_keys);
//% end
    }
//% if copy == 'direct' && prefetch
    if (i + 1 < tiles) load_key_tile(keys, k_head, first_key_of(i + 1), S, lane);
//% end
//% if mask == 'causal'
    const int keys_left = first_row + warp_row + 1 - first_key;  // of the tile, for the warp's first row
//% else
    const int keys_left = S - first_key;
//% end
    if (keys_left < tile_k) mask_scores(scores, keys_left, lane);
//% probe
    for_each_score(first_row + warp_row, first_key, S, lane, [&](int m, int n, int i, int row, int key) {
      probe_scores[((long long)head * S + row) * S + key] = scores[m][n][i] * scale * score_unit;
    });
//% end

    float tile_max[m_tiles][2];
    find_tile_max(tile_max, scores, scale);
    raise_row_max(row_max, tile_max, row_sum, acc_o);

//% if copy == 'cp_async' && arrival == 'split'
    wait_for_copies<stages * tile_groups - 2>();
    sync_group(group);
//% elif copy == 'direct' && arrival == 'split'
    load_value_tile(values, v_head, first_key, S, lane);
//% end
//% if v_operand == 'fragments'
    transpose_tile(v_fragments, v_tile, warp_q, lane);
    sync_group(group);
    const ValueTile& value_tile = v_fragments;
//% elif copy == 'direct'
    const ValueTile& value_tile = values;
//% else
    const ValueTile& value_tile = v_tile;
//% end
//% if v_layout == 'transposed' && copy == 'direct'
    if (first_key + tile_k > S) clear_padding(values, S - first_key, lane);
//% elif v_layout == 'transposed' && copy == 'plain'
    if (first_key + tile_k > S) {
      clear_padding(v_tile, S - first_key, group_thread);
      sync_group(group);
    }
//% end
//% if pv_math == 'e4m3' && promote
    float tile_o[m_tiles][o_tiles][4] = {};
    multiply_pv(tile_o, row_sum, scores, row_max, value_tile, scale, lane);
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
      for (int n = 0; n < o_tiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) acc_o[m][n][e] += tile_o[m][n][e];
      }
    }
//% else
    multiply_pv(acc_o, row_sum, scores, row_max, value_tile, scale, lane);
//% end
//% probe
//%   if pv_math == 'f16'
    for_each_score(first_row + warp_row, first_key, S, lane, [&](int m, int n, int i, int row, int key) {
      float ignored = 0.0f;
      const float first = scores[m][n][i / 2 * 2], second = scores[m][n][i / 2 * 2 + 1];
      const f16x2 p = weights(first, second, scale, weight_offset(row_max[m][i / 2]), ignored);
      const float weight = i % 2 == 0 ? first_of(p) : second_of(p);
      // Of those that all but vanish only the scores are known.
      probe_weights[((long long)head * S + row) * S + key] =
          weight > 0.004f ? logf(weight) + row_max[m][i / 2] * score_unit : scores[m][n][i] * scale * score_unit;
    });
//%   end
//% end
//% if copy == 'direct' && prefetch && arrival == 'together'
    if (i + 1 < tiles) load_value_tile(values, v_head, first_key_of(i + 1), S, lane);
//% end
//% if copy == 'cp_async'

    if (i + stages < tiles) sync_group(group);  // every warp is done with the stage
    start_copy(i + stages, stage);
//% end
//% if stages > 1
    stage = stage + 1 == stages ? 0 : stage + 1;
//% end
  }

//% if sum_by == 'adds'
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    row_sum[m][0] = quad_sum(row_sum[m][0]);
    row_sum[m][1] = quad_sum(row_sum[m][1]);
  }
//% end

//% if kv_split > 1
  const long long all_rows = (long long)gridDim.y * S;
  const Output output = {partial_o, partial_max, partial_sum, blockIdx.z * all_rows};
//% else
  const Output output = {o, v_scale[${scale}]};
//% end
  const long long first_output_row = (long long)head * S + first_row;
  const int rows = min(tile_q, S - first_row);
//% if warps_k > 1
//%   if copy != 'direct'
  __syncthreads();  // key and value tiles are done with: their room serves the partial rows
//%   end
  leave_partial_rows(smem, acc_o, row_max, row_sum, group, warp_row, lane);
  __syncthreads();
  merge_rows(output, smem, first_output_row, rows);
//% else
  finish_rows(output, acc_o, row_max, row_sum, first_output_row, warp_row, rows, lane);
//% end
}
//% if kv_split > 1

#include "combine.cuh"
//% end
