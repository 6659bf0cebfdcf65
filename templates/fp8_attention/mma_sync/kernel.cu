// fp8_attention/mma_sync: attention of e4m3 queries over e4m3 keys and values as inference engines call it, in one pass over
// the keys, for GPUs of any age: codes become f16 on their way from shared memory to the products. A CTA has ${tile_q} query
// rows${pack ? ', of all query heads that share a head of keys' : ' of one head'}: ${warps_q} warp(s) side by side over the rows, ${warps_k} group(s) of them over the keys.
// docs/kernels/mma_sync.md tells the algorithm.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/math.cuh"
#include "include/warp.cuh"
#include "include/cluster.cuh"
#include "include/grid_dependency.cuh"
#include "include/e4m3_halves.cuh"

#include "include/attention/warp_sizes.cuh"
#include "include/attention/choices.cuh"
constexpr KeyOrder kv_order = KeyOrder::${kv_order};
constexpr Rescale rescale_when = Rescale::${rescale};
constexpr float let_pass = ${rescale_threshold}.0f;  // octaves, if rows are rescaled beyond a threshold
constexpr DependentLaunch pdl = DependentLaunch::${dependent_launch && pdl ? 'early' : 'none'};
constexpr bool causal = ${causal};
constexpr bool has_window = ${window > 0};
constexpr bool log_sum_exp = ${log_sum_exp};
constexpr bool persistent = ${persistent};
constexpr bool merges = ${merges};
constexpr bool split_over_cluster = false;
constexpr bool split_over_grid = ${split_over_grid};
constexpr bool weighs_by_ex2 = ${exponential == 'ex2'};
constexpr int merging_threads = threads;
constexpr int score_registers = tile_k / 2;  // of 16 rows
constexpr int o_registers = head_dim / 2;
constexpr float units_per_octave = 1.0f;     // of scores
// What scores are multiplied by at least, however small queries and keys are: masked scores stay minus infinity.
constexpr float smallest_scale = 1e-20f;
typedef float Scores[score_registers];
typedef u32 Weights[score_registers / 2];
typedef float Accumulators[o_registers];

//% include "include/attention/f32_softmax.cuh" with weight_dtype = 'f16'

#include "fp8_attention/work.cuh"
#include "mask.cuh"
//% include "fp8_attention/rows.cuh" with columns = 'ColumnsInTurns', value_unit = 'code_unit * ', largest_weight = '1.0f'

#include "include/attention/sync_group.cuh"
#include "tiles.cuh"
#include "products.cuh"

//% if register_cap > 0
extern "C" __global__ void fp8_attention(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) fp8_attention(
//% end
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const e4m3* __restrict__ v,
    const float* __restrict__ q_scale, const float* __restrict__ k_scale, const float* __restrict__ v_scale,
    half_bits* __restrict__ o, float* __restrict__ lse, float* __restrict__ partial_o,
    float2* __restrict__ partial_statistics, const int* __restrict__ cu_seqlens_q,
    const int* __restrict__ cu_seqlens_kv, const int* __restrict__ page_table, const int* __restrict__ kv_lengths,
    const __grid_constant__ Sizes sizes, const __grid_constant__ KeyStrides strides) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
#include "include/attention/warp_place.cuh"
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const Problem problem = {sizes${cu_seqlens ? ', cu_seqlens_q' : ''}${cu_seqlens && page == 0 ? ', cu_seqlens_kv' : ''}${page > 0 ? ', page_table, kv_lengths' : ''}};
  const Arguments output = {problem, q, q_scale, k_scale, v_scale, o, lse, partial_o, partial_statistics};
  constexpr float log2_e = 1.4426950408889634f;

  if constexpr (pdl != DependentLaunch::none) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  for_each_work(problem, [&](const Work& work) {
    const float scale = fmaxf(q_scale[problem.q_scale_index(work)] * k_scale[problem.kv_scale_index(work)] *
                                  (problem.softmax_scale * log2_e * code_unit * code_unit),
                              smallest_scale);  // scores in octaves
    const QueryRows q_head = {q, work, problem};
    const KeyRows k_head = {k, work, problem, strides};
    const KeyRows v_head = {v, work, problem, strides};
//% let query_count = 'problem.rows(work)'
//% let key_count = 'problem.keys(work)'
#include "include/attention/start_copies.cuh"

    if constexpr (q_bytes > 0) {
      wait_for_copies<stages * tile_commits>();
      __syncthreads();
    }
    u32 query[head_dim / 16][m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load_query(query, m, smem, q_head, warp_row + 16 * m, lane);

    const auto multiply_keys = [&](Scores(&scores)[m_tiles], shared_address k_tile) {
      multiply_qk(scores, query, k_tile, lane);
    };
    const auto mask_rows = [&](Scores& scores, int first_key, int first_row) {
      mask_tile(scores, first_key, first_row, work, problem, lane);
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
    if constexpr (persistent) __syncthreads();  // every warp is done with this work's shared memory
  });
}

#include "fp8_attention/combine.cuh"
