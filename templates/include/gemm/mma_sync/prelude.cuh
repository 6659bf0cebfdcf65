//% takes tile_k, b_tiles = 1, load = 'cp_async'
// What kernels of products with mma.sync share: primitives, choices, sizes.
#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
//% if load == 'tma'
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
//% else
#include "include/cp_async.cuh"
//% end
#include "include/ldmatrix.cuh"
#include "include/grid_dependency.cuh"

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k};
constexpr int warps_m = ${warps_m};
constexpr int warps_n = ${warps_n};
constexpr int stages = ${stages};
constexpr int m_tiles = ${m_tiles};   // tiles of 16 rows of a warp
constexpr int n_tiles = ${n_tiles};   // tiles of 8 columns of a warp
constexpr int min_blocks = ${min_blocks};  // that must fit on an SM, if there is no register cap
constexpr int threads = 32 * warps_m * warps_n;
constexpr int b_tiles = ${b_tiles};   // of a stage: matrices that a is multiplied by
constexpr int a_bytes = ${a_bytes};
constexpr int b_bytes = ${b_bytes};   // of one of these tiles
constexpr int stage_bytes = a_bytes + b_tiles * b_bytes;

#include "include/gemm/choices.cuh"
#include "include/gemm/results.cuh"
#include "include/gemm/work.cuh"
#include "include/gemm/mma_sync/tiles.cuh"

// The part of a CTA's tile that a warp makes.
struct WarpPlace {
  int row;
  int column;
  int lane;
};

__device__ __forceinline__ WarpPlace warp_place() {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  return {warp % warps_m * 16 * m_tiles, warp / warps_m * 8 * n_tiles, lane};
}
