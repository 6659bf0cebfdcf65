// gemm_fp8/mma_sync: c = a b^T with e4m3 a [M, K], b [N, K] and bf16 c; scales: ${scaling}. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

//% include "include/gemm/mma_sync/prelude.cuh" with tile_k = tile_k / 2
#include "include/mma.cuh"

#include "gemm_fp8/scales.cuh"
constexpr bool promotes = ${promotes};  // each tile of the depth has sums of its own, which are added to f32 sums

#include "codes.cuh"
#include "include/gemm/mma_sync/stages.cuh"

//% slot epilogue

#include "include/gemm/mma_sync/split_k.cuh"

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    gemm_fp8(const e4m3x2* __restrict__ a, const e4m3x2* __restrict__ b, const float* __restrict__ a_scale,
             const float* __restrict__ b_scale, Output* __restrict__ c, float* __restrict__ partial, int M, int N,
             int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const WarpPlace warp = warp_place();
  const Tile tile = own_tile(M, N, K);
  const int lane_row = tile.first_row + warp.row + warp.lane / 4;
  const int first_column = tile.first_column + warp.column;
  const Scales scales = {a_scale, b_scale, M, N, (K + 63) / 64};

  overlap_launches();
  float sums[1][m_tiles][n_tiles][4] = {};
  const auto copy = [&](shared_address stage, int first_k) {
    copy_tile<tile_m, tile_k>(stage, a, tile.first_row, M, first_k, K);
    copy_tile<tile_n, tile_k>(stage + a_bytes, b, tile.first_column, N, first_k, K);
  };
  run_through_stages(smem, tile.depth, copy, [&](int i, shared_address stage) {
    if constexpr (promotes) {
      float parts[1][m_tiles][n_tiles][4] = {};
      multiply_stage(parts, stage, warp);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        BlockScales<8 * n_tiles> block_scales;
        block_scales.load(scales, i, lane_row + 16 * m, first_column, product_unit);
        block_scales.add(&sums[0][m][0][0], &parts[0][m][0][0]);
      }
    } else {
      multiply_stage(sums, stage, warp);
    }
  });
  if constexpr (scaling != Scaling::blocks) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m)
      scale_results<8 * n_tiles>(&sums[0][m][0][0], scales, lane_row + 16 * m, first_column,
                                 promotes ? 1.0f : product_unit);
  }
  store_tile(c, partial, sums[0], tile, warp, M, N, smem);
}

#include "include/gemm/reduce.cuh"
