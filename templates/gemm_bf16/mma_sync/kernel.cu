// gemm_bf16/mma_sync: c = a b with bf16 a [M, K], b ${b_layout == 'nk' ? '[N, K]' : '[K, N]'} and f32 sums, ${out} c. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

#include "include/gemm/mma_sync/prelude.cuh"
#include "include/gemm/mma_sync/bf16.cuh"
#include "include/gemm/mma_sync/stages.cuh"

//% slot epilogue

#include "include/gemm/mma_sync/split_k.cuh"

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    gemm_bf16(const ${load == 'tma' ? '__grid_constant__ TensorMap a_map' : 'half_bits* __restrict__ a'}, const ${load == 'tma' ? '__grid_constant__ TensorMap b_map' : 'half_bits* __restrict__ b'}, Output* __restrict__ c,
              float* __restrict__ partial, int M, int N, int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = ${load == 'tma' ? 'start_of_boxes(smem_storage)' : 'shared_address_of(smem_storage)'};
  const WarpPlace warp = warp_place();
  const Tile tile = own_tile(M, N, K);

  overlap_launches();
  float sums[1][m_tiles][n_tiles][4] = {};
//% if load == 'tma'
  const auto copy = [&](shared_address stage, int first_k, shared_address full) {
    load_tile<tile_m, tile_k>(stage, a_map, full, tile.first_row, first_k);
    if constexpr (b_layout == Layout::nk) {
      load_tile<tile_n, tile_k>(stage + a_bytes, b_map, full, tile.first_column, first_k);
    } else {
      load_tile<tile_k, tile_n>(stage + a_bytes, b_map, full, first_k, tile.first_column);
    }
  };
//% else
  const auto copy = [&](shared_address stage, int first_k) {
    copy_tile<tile_m, tile_k>(stage, a, tile.first_row, M, first_k, K);
    if constexpr (b_layout == Layout::nk) {
      copy_tile<tile_n, tile_k>(stage + a_bytes, b, tile.first_column, N, first_k, K);
    } else {
      copy_tile<tile_k, tile_n>(stage + a_bytes, b, first_k, K, tile.first_column, N);
    }
  };
//% end
  run_through_stages(smem, tile.depth, copy, [&](int, shared_address stage) { multiply_stage(sums, stage, warp); });
  store_tile(c, partial, sums[0], tile, warp, M, N, smem);
}

#include "include/gemm/reduce.cuh"
