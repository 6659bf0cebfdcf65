// fp8_sdpa/mma_sync: o = softmax(q k^T / sqrt(D)) v with e4m3 q, k, v and one scale a ${scales}, in one pass
// over the keys. A CTA has ${tile_q} query rows of one head: ${warps_q} warp(s) side by side over the rows,
// ${warps_k} group(s) of them over the keys. docs/kernels/mma_sync.md tells the algorithm and the layouts.

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
#include "include/attention/choices.cuh"

enum class Copy { plain, cp_async, direct };
constexpr Copy copy = Copy::${copy};
constexpr QueryOperand q_operand = QueryOperand::${q_operand};
constexpr RowSum sum_by = RowSum::${sum_by};
constexpr KeyOrder kv_order = KeyOrder::${kv_order};
constexpr bool causal = ${mask == 'causal'};                  // row i attends to keys 0 to i
constexpr bool v_is_transposed = ${v_layout == 'transposed'};
constexpr bool prefetch = ${prefetch};
constexpr bool split_arrival = ${arrival == 'split'};           // values are waited for when they are needed
constexpr bool f16_weights = ${pv_math == 'f16'};             // operands of the second product, else e4m3
constexpr bool promote = ${promote};
constexpr bool merges_in_f16 = ${merge_type == 'f16'};
constexpr bool pdl = ${dependent_launch && pdl};

constexpr int head_dim = ${D};
constexpr int tile_q = ${tile_q};                       // query rows of the CTA
constexpr int tile_k = ${tile_k};                       // keys of one tile
constexpr int warps_q = ${warps_q};                     // warps of a group
constexpr int warps_k = ${warps_k};                     // groups
constexpr int kv_split = ${kv_split};                   // CTAs that share the keys of a query tile
constexpr int m_tiles = ${m_tiles};                     // tiles of 16 query rows of a warp
constexpr int key_tiles = tile_k / 8;                   // score tiles of 8 keys
constexpr int o_tiles = head_dim / 8;                   // output tiles of 8 columns
constexpr int group_threads = 32 * warps_q;
constexpr int threads = group_threads * warps_k;
constexpr int min_blocks = ${min_blocks};
constexpr int stages = ${stages};                       // key and value tiles in shared memory for each group
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int v_tile_bytes = ${v_tile_bytes};             // of a value tile
constexpr int q_bytes = ${q_bytes};                     // of the query tile
constexpr int group_bytes = ${group_bytes};             // of a group's tiles
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of
// sight, and the others are all but equal.
constexpr float smallest_scale = 1e-20f;

struct Output {
  half_bits* o;
  float v_scale;
  float* partial_o;  // [split][row of all heads][head_dim], not normalised
  float* partial_max;
  float* partial_sum;
  long long first_partial_row;
};

//% slot exponential

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

// Tiles: how they come, how values become an operand, how rows leave.
#include "include/attention/sync_group.cuh"
#include "include/tiles.cuh"
#include "include/row_product.cuh"
#include "scores.cuh"
#include "group_tiles.cuh"
#include "prefetch.cuh"
#include "value_product.cuh"
//% if copy == 'direct'
#include "direct_tiles.cuh"
//% else
#include "shared_tiles.cuh"
//% end
//% let plain = prefetch ? 'PrefetchedTiles' : 'PlainTiles'
typedef ${copy == 'direct' ? 'DirectTiles' : copy == 'cp_async' ? 'AsyncTiles' : plain} Tiles;
#include "probes.cuh"
#include "output.cuh"

// Loads half of the depth of the warp's m-th 16 query rows. A template: with direct copies there are no shared tiles.
struct LoadQuery {
  const e4m3* q;  // of the head
  shared_address tile;
  int first_row;
  int warp_row;
  int S;
  int lane;

  template <typename Rows>
  __device__ __forceinline__ void operator()(Rows& rows, int m, int half) const {
    if constexpr (q_operand == QueryOperand::global) {
      load_rows_half(rows, q, first_row + warp_row + 16 * m, S, half, lane);
    } else {
      load_rows_half(rows, tile, warp_row + 16 * m, half, lane);
    }
  }
};

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''} fp8_sdpa(
//% probe
    float* probe_scores, float* probe_weights, float* probe_sums, float* probe_rows,
//% end
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const e4m3* __restrict__ v,
    const float* __restrict__ q_scale, const float* __restrict__ k_scale, const float* __restrict__ v_scale,
    half_bits* __restrict__ o, float* __restrict__ partial_o, float* __restrict__ partial_max,
    float* __restrict__ partial_sum, int S) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp_q = threadIdx.x / 32 % warps_q;
  const int group = threadIdx.x / group_threads;
  const int group_thread = threadIdx.x % group_threads;
  const int head = blockIdx.y;
  // Behind a causal mask the longest come first: none is left for the end.
  const int first_row = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * tile_q;
  const int warp_row = warp_q * 16 * m_tiles;
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const shared_address v_fragments = v_tiles + stages * v_tile_bytes;

//% probe
  probed_scores = probe_scores;
  probed_weights = probe_weights;
  probed_sums = probe_sums;
  probed_rows = probe_rows;
//% end
  if constexpr (pdl) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  const long long head_start = (long long)head * S * head_dim;
  const e4m3* q_head = q + head_start;
  const e4m3* k_head = k + head_start;
  const e4m3* v_head = v + (v_is_transposed ? head * (head_dim * padded(S)) : head_start);

  // The CTA's share of the key tiles.
  const int all_tiles = ((causal ? min(S, first_row + tile_q) : S) + tile_k - 1) / tile_k;
  int first_tile = 0;
  int end_tile = all_tiles;
  if constexpr (kv_split > 1) {
    const int split_tiles = (all_tiles + kv_split - 1) / kv_split;
    first_tile = min(all_tiles, (int)blockIdx.z * split_tiles);
    end_tile = min(all_tiles, first_tile + split_tiles);
  }
  const int count = max(0, (end_tile - first_tile - group + warps_k - 1) / warps_k);
  const auto first_key_of = [&](int i) {
    return (kv_order == KeyOrder::forward ? first_tile + group + i * warps_k
                                          : end_tile - 1 - group - i * warps_k) * tile_k;
  };
  const Tiles tiles = {k_head,  v_head,      S,     first_tile,   end_tile, count, k_tiles,
                       v_tiles, v_fragments, group, group_thread, warp_q,   lane};

  // Load: the query's rows and the first tiles.
  if constexpr (q_operand != QueryOperand::global) {
    copy_tile<tile_q, threads>(smem, q_head, first_row, S, threadIdx.x);
    if constexpr (copy == Copy::cp_async) commit_copies();
  }
  Tiles::Registers registers;
  tiles.start(registers);

  const int scale_index = ${scales == 'head' ? 'head' : '0'};
  // 1 / sqrt(head_dim)
  constexpr float inverse_root = ${D == 64 ? '0.125f' : D == 128 ? '0.08838834764831845f' : '0.0625f'};
  constexpr float log2_e = 1.4426950408889634f;
  const float scale = fmaxf(
      q_scale[scale_index] * k_scale[scale_index] * (inverse_root * log2_e * units_per_octave), smallest_scale);

  if constexpr (q_operand != QueryOperand::global) {
    if constexpr (copy == Copy::cp_async) wait_for_copies<stages * tile_copies>();
    __syncthreads();
  }
  const LoadQuery load_query = {q_head, smem, first_row, warp_row, S, lane};
  RowsHalf query[halves][m_tiles];
  if constexpr (q_operand != QueryOperand::smem) load_all_rows(query, load_query);

  float acc_o[m_tiles][o_tiles][4] = {};
  float row_sum[m_tiles][2] = {};
  float row_max[m_tiles][2];
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) row_max[m][0] = row_max[m][1] = lowest_score;

  int stage = 0;
#pragma unroll ${unroll}
  for (int i = 0; i < count; ++i) {
    // Load.
    const Tile tile = {first_key_of(i), k_tiles + stage * tile_bytes, v_tiles + stage * v_tile_bytes};
    tiles.await_keys(tile, group, group_thread, registers);
    if (prefetch && i + 1 < count) {
      tiles.fetch_keys(first_key_of(i + 1), registers);
      tiles.fetch_values(first_key_of(i + 1), registers);
    }

    // Scores.
    float scores[m_tiles][key_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) { tiles.load_keys(codes, tile, registers, half, n); };
      if constexpr (q_operand == QueryOperand::smem) {
        RowsHalf rows[m_tiles];
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) load_query(rows[m], m, half);
        multiply_half(scores, rows, load_keys);
      } else {
        multiply_half(scores, query[half], load_keys);
      }
    }
    tiles.end_keys(i + stages, registers);
    // Of the tile, for the warp's first row.
    const int keys_left = (causal ? first_row + warp_row + 1 : S) - tile.first_key;
    if (keys_left < tile_k) mask_scores(scores, keys_left, lane);
//% probe
    for_each_score(first_row + warp_row, tile.first_key, S, lane, [&](int m, int n, int i, int row, int key) {
      probed_scores[((long long)head * S + row) * S + key] = scores[m][n][i] * scale * score_unit;
    });
//% end

    // Softmax.
    float tile_max[m_tiles][2];
    find_tile_max(tile_max, scores, scale);
    raise_row_max(row_max, tile_max, row_sum, acc_o);

    // Product: scores become weights on the way.
    const ValueTile& value_tile = tiles.await_values(tile, registers);
    if constexpr (promote) {
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
    } else {
      multiply_pv(acc_o, row_sum, scores, row_max, value_tile, scale, lane);
    }
//% probe
    probe_weights_of(scores, row_max, scale, first_row + warp_row, tile.first_key, S, lane);
//% end
    if (copy == Copy::cp_async && i + stages < count) sync_group(group);  // every warp is done with the stage
    tiles.end_values(i + stages, stage, registers);
    if constexpr (stages > 1) stage = stage + 1 == stages ? 0 : stage + 1;
  }

  // Store.
  if constexpr (sum_by == RowSum::adds) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      row_sum[m][0] = quad_sum(row_sum[m][0]);
      row_sum[m][1] = quad_sum(row_sum[m][1]);
    }
  }
  const Output output = {o, v_scale[scale_index], partial_o, partial_max, partial_sum,
                         blockIdx.z * ((long long)gridDim.y * S)};
  const long long first_output_row = (long long)head * S + first_row;
  const int rows = min(tile_q, S - first_row);
  if constexpr (warps_k > 1) {
    // Key and value tiles are done with: their room serves the partial rows.
    if constexpr (copy != Copy::direct) __syncthreads();
    leave_partial_rows(smem, acc_o, row_max, row_sum, group, warp_row, lane);
    __syncthreads();
    merge_rows(output, smem, first_output_row, rows);
  } else {
    finish_rows(output, acc_o, row_max, row_sum, first_output_row, warp_row, rows, lane);
  }
}

#include "combine.cuh"
