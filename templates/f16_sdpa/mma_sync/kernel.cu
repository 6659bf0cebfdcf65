// f16_sdpa/mma_sync: o = softmax(scale q k^T) v with ${dtype} q, k, v, in one pass over the keys. A CTA has ${tile_q} query
// rows of one head: ${warps_q} warp(s) side by side over the rows, ${warps_k} group(s) of them over the keys. docs/kernels/f16_sdpa.md
// tells the algorithm and the layouts. With a causal mask row i attends to keys 0 to i: tiles beyond the CTA's last row
// are skipped.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/mma_bf16.cuh"
#include "include/math.cuh"
#include "include/warp.cuh"
#include "include/grid_dependency.cuh"

#include "include/attention/warp_sizes.cuh"
constexpr int merging_threads = threads;
constexpr int score_registers = tile_k / 2;    // of 16 rows
constexpr int o_registers = head_dim / 2;
typedef float Scores[score_registers];
typedef u32 Weights[score_registers / 2];
typedef float Accumulators[o_registers];

#include "f16_sdpa/choices.cuh"
constexpr QueryOperand q_operand = QueryOperand::${q_operand};
#include "f16_sdpa/softmax.cuh"

#include "include/attention/work.cuh"
#include "include/cluster.cuh"
#include "f16_sdpa/rows.cuh"

#include "include/attention/sync_group.cuh"
//% if load == 'tma'
#include "boxes.cuh"
//% end

#include "tiles.cuh"

#include "products.cuh"

//% if register_cap > 0
extern "C" __global__ void f16_sdpa(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) f16_sdpa(
//% end
//% if load == 'tma'
    const half_bits* __restrict__ q, const __grid_constant__ TensorMap k_map, const __grid_constant__ TensorMap v_map,
//% else
    const half_bits* __restrict__ q, const half_bits* __restrict__ k, const half_bits* __restrict__ v,
//% end
    half_bits* __restrict__ o, float* __restrict__ partial_o, float2* __restrict__ partial_statistics,
    float softmax_scale, int S, int heads) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = ${load == 'tma' ? 'start_of_boxes(smem_storage)' : 'shared_address_of(smem_storage)'};
//% if load == 'tma'
  u32 full_parity = 0;  // of each stage, a bit
  init_stages(smem);
//% end
#include "include/attention/warp_place.cuh"
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const Output output = {o, partial_o, partial_statistics, S, heads};
  constexpr float log2_e = 1.4426950408889634f;
  const float scale = softmax_scale * log2_e;  // scores in octaves

  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  for_each_work(S, heads, [&](const Work& work) {
    const long long head_start = (long long)work.head * S * head_dim;
    const half_bits* q_head = q + head_start;
//% if load == 'tma'
#include "start_boxes.cuh"
//% else
    const half_bits* k_head = k + head_start;
    const half_bits* v_head = v + head_start;
//% let query_count = 'S'
//% let key_count = 'S'
#include "include/attention/start_copies.cuh"
//% end

    const auto load_query_rows = [&](u32(&fragment)[4], int m, int step) {
      if constexpr (q_operand == QueryOperand::global) {
        load_query(fragment, q_head, work.first_row + warp_row + 16 * m, S, step, lane);
      } else {
        load_query(fragment, query_start(smem, warp_row + 16 * m, lane), step);
      }
    };
    if constexpr (q_operand != QueryOperand::global) {
      wait_for_copies<stages * tile_commits>();
      __syncthreads();
    }
    u32 query[head_dim / 16][m_tiles][4];
    if constexpr (q_operand != QueryOperand::smem) {
#pragma unroll
      for (int step = 0; step < head_dim / 16; ++step) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) load_query_rows(query[step][m], m, step);
      }
    }
    const auto query_rows = [&](u32(&fragment)[4], int m, int step) {
      if constexpr (q_operand == QueryOperand::smem) {
        load_query_rows(fragment, m, step);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) fragment[i] = query[step][m][i];
      }
    };

    const auto multiply_keys = [&](Scores(&scores)[m_tiles], shared_address k_tile) {
      multiply_qk(scores, k_tile, lane, query_rows);
    };
    const auto mask_rows = [&](Scores& scores, int first_key, int first_row) {
      mask_tile(scores, first_key, first_row, first_row + lane / 4, S, lane);
    };
    const auto multiply_values = [&](Accumulators(&acc_o)[m_tiles], float(&row_sum)[m_tiles][2],
                                     const Weights(&weights)[m_tiles], shared_address v_tile) {
      multiply_pv(acc_o, row_sum, weights, v_tile, lane);
    };
#include "include/attention/pass_over_keys.cuh"
    if constexpr (merges) {
      merge_rows(smem + q_bytes, output, work);
    } else {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        store_rows(output, work, work.first_row + warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], lane);
      }
    }
    if constexpr (persistent) __syncthreads();  // every warp is done with this query tile's shared memory
  });
}
//% if kv_split > 1

#include "f16_sdpa/combine.cuh"
//% end
