// grouped_gemm/mma_sync: rows of bf16 a [T, K] by the weights b[e] [${act == 'silu_mul' ? '2 ' : ''}N, K] of their expert, f32 sums, ${out} c. A CTA makes ${tile_m} x
// ${tile_n} elements; ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

//% include "include/gemm/mma_sync/prelude.cuh" with b_tiles = parts
#include "include/gemm/mma_sync/bf16.cuh"
#include "include/gemm/mma_sync/stages.cuh"
constexpr int ctas_of_row = 1;

#include "grouped_gemm/activation.cuh"
#include "grouped_gemm/experts.cuh"

//% slot epilogue

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    grouped_gemm(const half_bits* __restrict__ a, const half_bits* __restrict__ b, const int* __restrict__ offsets,
                 Output* __restrict__ c, int E, int N, int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const WarpPlace warp = warp_place();

  overlap_launches();
  Tile tile;
  if (!TileWalk{offsets, E, N}.find(blockIdx.x, tile)) return;
  const half_bits* weights = b + (long long)tile.expert * parts * N * K;

  float sums[parts][m_tiles][n_tiles][4] = {};
  const auto copy = [&](shared_address stage, int first_k) {
    copy_tile<tile_m, tile_k>(stage, a, tile.first_row, tile.end_row, first_k, K);
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const half_bits* matrix = weights + (long long)part * N * K;
      copy_tile<tile_n, tile_k>(stage + a_bytes + part * b_bytes, matrix, tile.first_column, N, first_k, K);
    }
  };
  run_through_stages(smem, depth_range(0, K), copy,
                     [&](int, shared_address stage) { multiply_stage(sums, stage, warp); });
  if constexpr (activation == Activation::silu_mul) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m)
#pragma unroll
      for (int n = 0; n < n_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[0][m][n][e] = activated(sums[0][m][n][e], sums[parts - 1][m][n][e]);
  }
  store_results(c, sums[0], tile.first_row, tile.first_column, warp, tile.end_row, N, smem);
}
