// sim_fp8_sdpa/mma_sync: o = softmax(scale q k^T) v with affine codes of 8 bits, in one pass over the keys. A CTA has ${tile_q}
// query rows of one head: ${warps_q} warp(s) side by side over the rows, ${warps_k} group(s) of them over the keys.
// docs/kernels/sim_fp8.md tells the algorithm and the layouts.
//% let copy = 'cp_async'

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/math.cuh"
#include "include/f16x2.cuh"
#include "include/warp.cuh"
#include "include/grid_dependency.cuh"
#include "include/affine_codes.cuh"

#include "include/attention/warp_sizes.cuh"
constexpr int n_tiles = tile_k / 8;
constexpr int o_tiles = head_dim / 8;
constexpr int row_chunks = head_dim / 16;
constexpr int row_bytes = ${row_bytes};
constexpr int min_blocks = ${min_blocks};
constexpr bool queries_are_copied = ${q_operand != 'global'};  // to shared memory

#include "sim_fp8_sdpa/decoders.cuh"

#include "include/tiles.cuh"

#include "include/affine_queries.cuh"

#include "sim_fp8_sdpa/work.cuh"

#include "sim_fp8_sdpa/output.cuh"

#include "sim_fp8_sdpa/softmax.cuh"

#include "rows.cuh"

#include "include/attention/sync_group.cuh"

#include "products.cuh"

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''} sim_fp8_sdpa(
#include "sim_fp8_sdpa/parameters.cuh"
) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
#include "include/attention/warp_place.cuh"
  const shared_address k_tiles = smem + q_bytes + group * group_bytes;
  const shared_address v_tiles = k_tiles + stages * tile_bytes;
  const shared_address k_table = smem + q_bytes + groups * group_bytes;
  const shared_address v_table = k_table + ${key_dequant == 'table' ? 'table_bytes' : '0'};
  const Output output = {o, partial_o, partial_statistics, M, heads};

  if constexpr (${waits_for_launches}) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  for_each_work(M, N, heads, [&](const Work& work) {
    const unsigned char* q_head = q + (long long)work.head * M * head_dim;
    const unsigned char* k_head = k + (long long)work.head * N * head_dim;
    const unsigned char* v_head = v + (long long)work.head * N * head_dim;
//% let query_count = 'M'
//% let key_count = 'N'
#include "include/attention/start_copies.cuh"

#include "sim_fp8_sdpa/decode_head.cuh"
    fill_tables(k_table, k_zeros[index], v_table, v_zeros[index]);

    QueryRows query[m_tiles];
    if constexpr (queries_are_copied) {
      wait_for_copies<stages * tile_commits>();
      __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      if constexpr (queries_are_copied) {
        load_query(query[m], smem, warp_row + 16 * m, query_decoder, lane);
      } else {
        load_query(query[m], q_head, work.first_row + warp_row + 16 * m, M, query_decoder, lane);
      }
    }
    if constexpr (!queries_are_copied && ${tables > 0}) __syncthreads();

    const auto multiply_keys = [&](Scores(&scores)[m_tiles], shared_address k_tile) {
      multiply_qk(scores, query, k_tile, key_decoder, lane);
    };
    const auto mask_rows = [&](Scores& scores, int first_key, int first_row) {
      mask_tile(scores, first_key, first_row, first_row + lane / 4, M, N, lane);
    };
    const auto multiply_values = [&](Accumulators(&acc_o)[m_tiles], float(&row_sum)[m_tiles][2],
                                     const Weights(&weights)[m_tiles], shared_address v_tile) {
      multiply_pv(acc_o, row_sum, weights, v_tile, value_decoder, lane);
    };
#include "include/attention/pass_over_keys.cuh"
    if constexpr (groups > 1) {
      merge_rows(smem + q_bytes, output, work, value_scale);
    } else {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        store_rows(output, work, work.first_row + warp_row + 16 * m, acc_o[m], row_max[m], row_sum[m], value_scale,
                   lane);
      }
    }
    if constexpr (persistent) __syncthreads();  // every warp is done with this query tile's shared memory
  });
}

#include "sim_fp8_sdpa/combine.cuh"
