// grouped_gemm/mma_sync: rows of bf16 a [T, K] by the weights b[e] [${act == 'silu_mul' ? '2 ' : ''}N, K] of their expert, f32 sums, ${out} c. A CTA makes ${tile_m} x
// ${tile_n} elements; ${warps_m} x ${warps_n} warps share them. Tiles of depth ${tile_k} run through ${stages} stages of shared memory.

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
constexpr int ctas_of_row = 1;
constexpr int a_bytes = ${a_bytes};     // of a stage
constexpr int part_bytes = ${part_bytes};  // of a stage, one matrix of b
constexpr bool waits_for_launches = ${dependent_launch && pdl};
enum class Layout { nk, kn };
constexpr Layout b_layout = Layout::nk;
constexpr int split_k = 1;

#include "gemm_bf16/results.cuh"
#include "gemm_bf16/work.cuh"
#include "gemm_bf16/mma_sync/tiles.cuh"

#include "grouped_gemm/activation.cuh"
#include "grouped_gemm/experts.cuh"

//% slot epilogue

extern "C" __global__ void ${register_cap == 0 ? '__launch_bounds__(threads, min_blocks)' : ''}
    grouped_gemm(const half_bits* __restrict__ a, const half_bits* __restrict__ b, const int* __restrict__ offsets,
                 Output* __restrict__ c, int E, int N, int K) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const shared_address smem = shared_address_of(smem_storage);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_column = warp / warps_m * 8 * n_tiles;
  constexpr int stage_bytes = a_bytes + parts * part_bytes;

  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  Tile tile;
  if (!TileWalk{offsets, E, N}.find(blockIdx.x, tile)) return;
  const half_bits* weights = b + (long long)tile.expert * parts * N * K;
  const int depths = (K + tile_k - 1) / tile_k;

  // Depth i goes to stage i % stages. Groups are closed for depths past the last too, so that counting them is the
  // same all the way. Rows past the expert's end are zeros.
  const auto start_copy = [&](int i, int stage) {
    if (i < depths) {
      const shared_address a_tile = smem + stage * stage_bytes;
      copy_tile<tile_m, tile_k>(a_tile, a, tile.first_row, tile.end_row, i * tile_k, K);
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        copy_tile<tile_n, tile_k>(a_tile + a_bytes + part * part_bytes, weights + (long long)part * N * K,
                                  tile.first_column, N, i * tile_k, K);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) start_copy(stage, stage);

  float acc[parts][m_tiles][n_tiles][4] = {};
  int stage = 0;
  for (int i = 0; i < depths; ++i) {
    wait_for_copies<stages - 2>();
    __syncthreads();  // the depth is there for all warps, and all are done with the one before, whose stage is next
    start_copy(i + stages - 1, stage == 0 ? stages - 1 : stage - 1);
    const shared_address a_tile = smem + stage * stage_bytes;
#pragma unroll
    for (int step = 0; step < tile_k / 16; ++step) {
      u32 a_fragments[m_tiles][4];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) load_a(a_fragments[m], a_tile, warp_row + 16 * m, step, lane);
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        const shared_address b_tile = a_tile + a_bytes + part * part_bytes;
#pragma unroll
        for (int n = 0; n < n_tiles; n += 2) {
          u32 b_fragments[4];
          load_b(b_fragments, b_tile, warp_column + 8 * n, step, lane);
#pragma unroll
          for (int m = 0; m < m_tiles; ++m) {
            mma_bf16(acc[part][m][n], a_fragments[m], b_fragments[0], b_fragments[1]);
            mma_bf16(acc[part][m][n + 1], a_fragments[m], b_fragments[2], b_fragments[3]);
          }
        }
      }
    }
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  wait_for_copies<0>();

  if constexpr (activation == Activation::silu_mul) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m)
#pragma unroll
      for (int n = 0; n < n_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) acc[0][m][n][e] = activated(acc[0][m][n][e], acc[parts - 1][m][n][e]);
  }
  store_results(c, acc[0], tile.first_row, tile.first_column, warp_row, warp_column, tile.end_row, N, lane, smem);
}
