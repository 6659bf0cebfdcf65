// w4a16/mma_sync: c = a W with bf16 a [M, K] and 4-bit codes of W. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_n} warp(s) share the columns, ${warps_k} the depth. Tiles of ${tile_k} depths run through ${stages} stages.
// Products are those of W^T and a^T: 16 columns by 8 rows of the result.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/cp_async.cuh"
#include "include/mma_bf16.cuh"
#include "include/grid_dependency.cuh"

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k};
constexpr int warps_n = ${warps_n};
constexpr int warps_k = ${warps_k};
constexpr int stages = ${stages};
constexpr int threads = ${threads};
constexpr int min_blocks = ${min_blocks};    // that must fit on an SM, if there is no register cap
constexpr int row_tiles = ${row_tiles};      // of eight rows
constexpr int strips = ${strips};            // of 32 columns, of a warp
constexpr int warp_groups = ${warp_groups};  // that a warp has of a stage
constexpr int unrolled_steps = ${row_tiles * strips < 8 ? 4 : 1};  // of a group: many sums leave no registers for more
constexpr int tile_groups = tile_k / 128;

#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
//% let group_m = 64
#include "include/gemm/work.cuh"
#include "w4a16/groups.cuh"
#include "w4a16/codes.cuh"
#include "w4a16/products.cuh"
#include "stage.cuh"

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    w4a16(const half_bits* __restrict__ a, const u32* __restrict__ w, const half_bits* __restrict__ scale,
          const u32* __restrict__ zero_point, Output* __restrict__ c, float* __restrict__ partial, int M, int N,
          int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const WarpPlace warp = warp_place();
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int first_row = place.row * tile_m, first_column = place.column * tile_n;
  const int rows = min(M - first_row, tile_m);
  const DepthRange depth = depth_range(blockIdx.y, K);
  Copies copies(a, w, scale, zero_point, first_row, first_column, depth.first * tile_k, M, N, K);

  overlap_launches();
  // Groups of copies are closed for tiles past the last too, so that counting them is the same all the way.
  const auto start_copies = [&](int tile, int stage) {
    if (tile < depth.end) copies.start(Stage(smem, stage));
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copies(depth.first + stage, stage);

  Sums sums = {};
  int stage = 0;
  for (int tile = depth.first; tile < depth.end; ++tile) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // the tile is there for all warps, and all are done with the one before, whose stage is next
    start_copies(tile + stages - 1, stage == 0 ? stages - 1 : stage - 1);
#pragma unroll 1
    for (int group = 0; group < warp_groups; ++group) {
      add_staged_group(sums, Stage(smem, stage), warp.depth * warp_groups + group, warp, rows);
    }
    stage = stage + 1 == stages ? 0 : stage + 1;
  }

  add_over_warps(sums, smem, warp);
  if (warp.depth > 0) return;
  if constexpr (split_k > 1) {
    store_sums(partial + (long long)blockIdx.y * M * N, sums, warp, first_row, rows, first_column, N);
  } else {
    store_sums(c, sums, warp, first_row, rows, first_column, N);
  }
}

#include "include/gemm/reduce.cuh"
