// sim_fp8_qkt/mma_sync: s = q k^T${scaled ? ' / sqrt(D)' : ''} on affine codes of 8 bits, ${out} scores. A CTA has ${tile_m} query rows of one
// head and works through ${walk} tile(s) of ${tile_n} keys; ${warps_m} x ${warps_n} warps share each tile.
//% let copy = 'cp_async'

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/cp_async.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/f16x2.cuh"
#include "include/grid_dependency.cuh"
#include "include/affine_codes.cuh"

#include "include/scores/sizes.cuh"
constexpr int m_step = 16;                              // rows from one of the m_tiles to the next
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int row_bytes = ${row_bytes};
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int q_bytes = ${q_bytes};                     // of the query tile
typedef decoders::${dequant} KeyDecoder;

#include "include/tiles.cuh"

#include "include/affine_queries.cuh"

#include "include/scores/epilogue.cuh"

//% slot epilogue

// The keys' zero point counts once for each code of the query.
__device__ __forceinline__ void take_off_zero_point(float (&scores)[n_tiles][4], const QueryRows& query, float zero) {
  constexpr f16x2 ones = 0x3c003c00u;
  float sum[4] = {};
#pragma unroll
  for (int step = 0; step < depth_steps; ++step) mma_f16(sum, query[step], ones, ones);
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = fmaf(scores[n][i], KeyDecoder::unit, -zero * sum[i]);
  }
}

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''} sim_fp8_qkt(
    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const float* __restrict__ q_scales,
    const float* __restrict__ k_scales, const unsigned char* __restrict__ q_zeros,
    const unsigned char* __restrict__ k_zeros, Score* __restrict__ s, int M, int N) {
#include "include/scores/start_copies.cuh"
  const shared_address table = staging + ${staging_bytes};

  const int k_zero = k_zeros[scale_index(head)];
  const BytesDecoder query_decoder(q_zeros[scale_index(head)]);
  const KeyDecoder key_decoder(k_zero, table);
  if constexpr (${dequant == 'table'}) fill_table<threads>(table, k_zero, threadIdx.x);
  const float scale = score_scale(q_scales, k_scales, head) * (KeyDecoder::leaves_zero_point ? 1 : KeyDecoder::unit);

  QueryRows query[m_tiles];
  if constexpr (q_operand == QueryOperand::global) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      load_query(query[m], q_head, first_row + warp_row + 16 * m, M, query_decoder, lane);
    }
  } else {
    wait_for_copies<stages>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load_query(query[m], smem, warp_row + 16 * m, query_decoder, lane);
  }

  int stage = 0;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    wait_for_copies<stages - 1>();
    __syncthreads();

    float scores[m_tiles][n_tiles][4] = {};
    multiply_qk(scores, query, k_tile + warp_key * row_bytes, key_decoder, lane);
    if constexpr (KeyDecoder::leaves_zero_point) {
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) take_off_zero_point(scores[m], query[m], (float)k_zero);
    }

    if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
    start_copy(i + stages, stage);
    store_scores(s_head, scores, scale, first_row, (first_tile + i) * tile_n, warp_row, warp_key, M, N, lane, staging);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}
