// gemm_fp8/mma_sync: c = a b^T with e4m3 a [M, K], b [N, K] and bf16 c; scales: ${scaling}. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/cp_async.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma.cuh"
#include "include/grid_dependency.cuh"

#include "gemm_fp8/choices.cuh"

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k / 2};  // in pairs of codes
constexpr int warps_m = ${warps_m};
constexpr int warps_n = ${warps_n};
constexpr int stages = ${stages};
constexpr int m_tiles = ${m_tiles};   // tiles of 16 rows of a warp
constexpr int n_tiles = ${n_tiles};   // tiles of 8 columns of a warp
constexpr int min_blocks = ${min_blocks};  // that must fit on an SM, if there is no register cap
constexpr int threads = 32 * warps_m * warps_n;
constexpr int a_bytes = ${a_bytes};   // of a stage
constexpr int b_bytes = ${b_bytes};
constexpr bool promotes = ${promotes};  // each tile of the depth has sums of its own, which are added to f32 sums

//% let out = 'bf16'
#include "gemm_bf16/results.cuh"
#include "gemm_bf16/work.cuh"

#include "gemm_bf16/mma_sync/tiles.cuh"

#include "codes.cuh"

#include "gemm_fp8/scales.cuh"

//% slot epilogue

// sums += the product of a stage's tiles
__device__ __forceinline__ void multiply_tile(float (&sums)[m_tiles][n_tiles][4], shared_address a_tile, int warp_row,
                                              int warp_column, int lane) {
  const shared_address b_tile = a_tile + a_bytes;
#pragma unroll
  for (int step = 0; step < tile_k / 16; ++step) {
    RowsOperand a[m_tiles];
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      load_a(a[m].fragment, a_tile, warp_row + 16 * m, step, lane);
      a[m].widen();
    }
#pragma unroll
    for (int n = 0; n < n_tiles; n += 2) {
      u32 b_fragments[4];
      load_b(b_fragments, b_tile, warp_column + 8 * n, step, lane);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        multiply(sums[m][n], a[m], b_fragments[0], b_fragments[1]);
        multiply(sums[m][n + 1], a[m], b_fragments[2], b_fragments[3]);
      }
    }
  }
}

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    gemm_fp8(const e4m3x2* __restrict__ a, const e4m3x2* __restrict__ b, const float* __restrict__ a_scale,
             const float* __restrict__ b_scale, Output* __restrict__ c, float* __restrict__ partial, int M, int N,
             int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_column = warp / warps_m * 8 * n_tiles;
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int first_row = place.row * tile_m;
  const int first_column = place.column * tile_n;
  const int lane_row = first_row + warp_row + lane / 4;
  const DepthRange depth = depth_range(blockIdx.y, K);
  const int tiles = depth.end - depth.first;
  const Scales scales = {a_scale, b_scale, M, N, (K + 63) / 64};

  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is the same
  // all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      const shared_address a_tile = smem + stage * (a_bytes + b_bytes);
      const int first_k = (depth.first + i) * tile_k;
      copy_tile<tile_m, tile_k>(a_tile, a, first_row, M, first_k, K);
      copy_tile<tile_n, tile_k>(a_tile + a_bytes, b, first_column, N, first_k, K);
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copy(stage, stage);

  float sums[m_tiles][n_tiles][4] = {};
  int stage = 0;
  for (int i = 0; i < tiles; ++i) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // the tile is there for all warps, and all are done with the one before, whose stage is next
    start_copy(i + stages - 1, stage == 0 ? stages - 1 : stage - 1);
    const shared_address a_tile = smem + stage * (a_bytes + b_bytes);
    if constexpr (promotes) {
      float parts[m_tiles][n_tiles][4] = {};
      multiply_tile(parts, a_tile, warp_row, warp_column, lane);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        BlockScales<8 * n_tiles> block_scales;
        block_scales.load(scales, depth.first + i, lane_row + 16 * m, first_column + warp_column, product_unit);
        block_scales.add(&sums[m][0][0], &parts[m][0][0]);
      }
    } else {
      multiply_tile(sums, a_tile, warp_row, warp_column, lane);
    }
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  wait_for_copies<0>();
  if constexpr (scaling != Scaling::blocks) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m)
      scale_results<8 * n_tiles>(&sums[m][0][0], scales, lane_row + 16 * m, first_column + warp_column,
                                 promotes ? 1.0f : product_unit);
  }

  if constexpr (split_k > 1) {
    store_results(partial + (long long)blockIdx.y * M * N, sums, first_row, first_column, warp_row, warp_column, M, N,
                  lane, smem);
  } else {
    store_results(c, sums, first_row, first_column, warp_row, warp_column, M, N, lane, smem);
  }
}

#include "gemm_bf16/reduce.cuh"
