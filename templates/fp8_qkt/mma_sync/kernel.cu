// fp8_qkt/mma_sync: s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''} with e4m3 q, k and one scale a
// ${scales}, ${out} scores. A CTA has ${tile_m} query rows of one head and works through ${walk} tile(s) of
// ${tile_n} keys; ${warps_m} x ${warps_n} warps share each tile.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/cp_async.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/grid_dependency.cuh"

#include "include/scores/sizes.cuh"
constexpr int m_step = 16;                              // rows from one of the m_tiles to the next
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int q_bytes = ${q_bytes};                     // of the query tile

#include "include/tiles.cuh"

#include "include/row_product.cuh"

#include "include/scores/epilogue.cuh"

//% slot epilogue

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    fp8_qkt(const e4m3* __restrict__ q, const e4m3* __restrict__ k, const float* __restrict__ q_scale,
            const float* __restrict__ k_scale, Score* __restrict__ s, int M, int N) {
#include "include/scores/start_copies.cuh"

  const float scale = score_scale(q_scale, k_scale, head);

  RowsHalf query[halves][m_tiles];
  if constexpr (q_operand == QueryOperand::global) {
    load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
      load_rows_half(rows, q_head, first_row + warp_row + 16 * m, M, half, lane);
    });
  } else if constexpr (q_operand == QueryOperand::registers) {
    if constexpr (copies_run_ahead) wait_for_copies<stages>();
    __syncthreads();
    load_all_rows(query, [&](RowsHalf& rows, int m, int half) {
      load_rows_half(rows, smem, warp_row + 16 * m, half, lane);
    });
  }

  int stage = 0;
#pragma unroll ${unroll}
  for (int i = 0; i < (walk > 1 ? tiles : 1); ++i) {  // of at least one
    const int first_key = (first_tile + i) * tile_n;
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    if constexpr (copies_run_ahead) {
      wait_for_copies<stages - 1>();
      __syncthreads();
    } else {
      if constexpr (walk > 1) __syncthreads();  // the tile before is done with
      copy_tile<tile_n, threads>(k_tile, k_head, first_key, N, threadIdx.x);
      __syncthreads();
    }

    float scores[m_tiles][n_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        load_8_rows_half(codes, k_tile, warp_key + 8 * n, half, lane);
      };
      if constexpr (q_operand == QueryOperand::smem) {
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) load_rows_half(query[half][m], smem, warp_row + 16 * m, half, lane);
      }
      multiply_half(scores, query[half], load_keys);
    }
    if constexpr (copies_run_ahead && walk > 1) {
      if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
      start_copy(i + stages, stage);
    }
    store_scores(s_head, scores, scale, first_row, first_key, warp_row, warp_key, M, N, lane, staging);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}
