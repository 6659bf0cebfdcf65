// gemm_bf16/mma_sync: c = a b with bf16 a [M, K], b ${b_layout == 'nk' ? '[N, K]' : '[K, N]'} and f32 sums, ${out} c. A CTA makes ${tile_m} x ${tile_n} elements;
// ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/cp_async.cuh"
#include "include/ldmatrix.cuh"
#include "include/mma_bf16.cuh"
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
constexpr int a_bytes = ${a_bytes};   // of a stage
constexpr int b_bytes = ${b_bytes};

#include "gemm_bf16/choices.cuh"
#include "gemm_bf16/results.cuh"
#include "gemm_bf16/work.cuh"

#include "tiles.cuh"

//% slot epilogue

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    gemm_bf16(const half_bits* __restrict__ a, const half_bits* __restrict__ b, Output* __restrict__ c,
              float* __restrict__ partial, int M, int N, int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_column = warp / warps_m * 8 * n_tiles;
  const TilePlace place = tile_place(blockIdx.x, (M + tile_m - 1) / tile_m, (N + tile_n - 1) / tile_n);
  const int first_row = place.row * tile_m;
  const int first_column = place.column * tile_n;
  const DepthRange depth = depth_range(blockIdx.y, K);
  const int tiles = depth.end - depth.first;

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
      if constexpr (b_layout == Layout::nk) {
        copy_tile<tile_n, tile_k>(a_tile + a_bytes, b, first_column, N, first_k, K);
      } else {
        copy_tile<tile_k, tile_n>(a_tile + a_bytes, b, first_k, K, first_column, N);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copy(stage, stage);

  float acc[m_tiles][n_tiles][4] = {};
  int stage = 0;
  for (int i = 0; i < tiles; ++i) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // the tile is there for all warps, and all are done with the one before, whose stage is next
    start_copy(i + stages - 1, stage == 0 ? stages - 1 : stage - 1);
    const shared_address a_tile = smem + stage * (a_bytes + b_bytes);
    const shared_address b_tile = a_tile + a_bytes;
#pragma unroll
    for (int step = 0; step < tile_k / 16; ++step) {
      u32 a_fragments[m_tiles][4];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) load_a(a_fragments[m], a_tile, warp_row + 16 * m, step, lane);
#pragma unroll
      for (int n = 0; n < n_tiles; n += 2) {
        u32 b_fragments[4];
        load_b(b_fragments, b_tile, warp_column + 8 * n, step, lane);
#pragma unroll
        for (int m = 0; m < m_tiles; ++m) {
          mma_bf16(acc[m][n], a_fragments[m], b_fragments[0], b_fragments[1]);
          mma_bf16(acc[m][n + 1], a_fragments[m], b_fragments[2], b_fragments[3]);
        }
      }
    }
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  wait_for_copies<0>();

  if constexpr (split_k > 1) {
    store_results(partial + (long long)blockIdx.y * M * N, acc, first_row, first_column, warp_row, warp_column, M, N,
                  lane, smem);
  } else {
    store_results(c, acc, first_row, first_column, warp_row, warp_column, M, N, lane, smem);
  }
}

#include "gemm_bf16/reduce.cuh"
