// w4a16/mma_direct: c = a W with bf16 a [M, K] and 4-bit codes of W. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_n} warp(s) share the columns, ${warps_k} the depth. A lane reads its own words, ${ahead} group(s) at a time.
// Products are those of W^T and a^T: 16 columns by 8 rows of the result.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/mma_bf16.cuh"
#include "include/grid_dependency.cuh"
//% let dtype = 'bf16', store_cache = 'keep'
#include "include/elements.cuh"

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int warps_n = ${warps_n};
constexpr int warps_k = ${warps_k};
constexpr int threads = ${threads};
constexpr int min_blocks = ${min_blocks};  // that must fit on an SM, if there is no register cap
constexpr int row_tiles = ${row_tiles};    // of eight rows
constexpr int strips = ${strips};          // of 32 columns, of a warp
constexpr int ahead = ${ahead};            // groups that are on their way or worked on
constexpr int unrolled_steps = 4;          // of a group
constexpr int tile_k = 128;

#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
//% let group_m = 64
#include "include/gemm/work.cuh"
#include "w4a16/groups.cuh"
#include "w4a16/codes.cuh"
#include "w4a16/products.cuh"
#include "lane.cuh"

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    w4a16(const half_bits* __restrict__ a, const u32* __restrict__ w, const half_bits* __restrict__ scale,
          const u32* __restrict__ zero_point, Output* __restrict__ c, float* __restrict__ partial, int M, int N,
          int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const WarpPlace warp = warp_place();
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int first_row = place.row * tile_m, first_column = place.column * tile_n;
  const int rows = min(M - first_row, tile_m);
  const DepthRange depth = depth_range(blockIdx.y, K);
  const int end = min(depth.end, K / group_depth);
  int group = depth.first + warp.depth;
  Lane lane(a, w, scale, zero_point, first_row, rows, first_column, group, warp, N, K);

  overlap_launches();
  // Groups on their way or worked on: one that is done with makes room for the next one.
  GroupOfLane groups[ahead];
#pragma unroll
  for (int i = 0; i < ahead; ++i) {
    if (group + i * warps_k < end) lane.load_next(groups[i]);
  }
  Sums sums = {};
  while (group < end) {
#pragma unroll
    for (int i = 0; i < ahead && group < end; ++i) {
      groups[i].add_to(sums);
      if (group + ahead * warps_k < end) lane.load_next(groups[i]);
      group += warps_k;
    }
  }

  add_over_warps(sums, shared_address_of(smem_storage), warp);
  if (warp.depth > 0) return;
  if constexpr (split_k > 1) {
    store_sums(partial + (long long)blockIdx.y * M * N, sums, warp, first_row, rows, first_column, N);
  } else {
    store_sums(c, sums, warp, first_row, rows, first_column, N);
  }
}

#include "include/gemm/reduce.cuh"
