// fp8_qkt/mma_sync: s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''} with e4m3 q, k and one scale a
// ${scales}, ${out} scores. A CTA has ${tile_m} query rows of one head and works through ${walk} tile(s) of
// ${tile_n} keys; ${warps_m} x ${warps_n} warps share each tile.

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/swizzle.cuh"

//% if copy == 'cp_async'
//%   include "include/cp_async.cuh"

//% end
//% include "include/ldmatrix.cuh"

//% include "include/mma.cuh"

//% if sm >= 90 && pdl
//%   include "include/grid_dependency.cuh"

//% end
constexpr int head_dim = ${D};
constexpr int tile_m = ${tile_m};                       // query rows of the CTA
constexpr int tile_n = ${tile_n};                       // keys of one tile
constexpr int warps_m = ${warps_m};
constexpr int warps_n = ${warps_n};
constexpr int walk = ${walk};                           // key tiles of the CTA
constexpr int stages = ${stages};                       // key tiles in shared memory
constexpr int m_tiles = ${m_tiles};                     // tiles of 16 query rows of a warp
constexpr int m_step = 16;                              // rows from one of these to the next
constexpr int n_tiles = ${n_tiles};                     // tiles of 8 keys of a warp
constexpr int threads = 32 * warps_m * warps_n;
constexpr int row_chunks = head_dim / 16;               // chunks of 16 codes in a row
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int q_bytes = ${q_bytes};                     // of the query tile

//% include "include/tiles.cuh"

//% include "include/row_product.cuh"

//% include "include/scores/epilogue.cuh"

//% slot epilogue

//% if register_cap > 0
extern "C" __global__ void fp8_qkt(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) fp8_qkt(
//% end
    const e4m3* __restrict__ q, const e4m3* __restrict__ k, const float* __restrict__ q_scale,
    const float* __restrict__ k_scale, Score* __restrict__ s, int M, int N) {
  extern __shared__ __align__(128) unsigned char smem_storage[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * 16 * m_tiles;
  const int warp_key = warp / warps_m * 8 * n_tiles;
  const int head = blockIdx.z;
//% if grid_order == 'keys_first'
  const int first_row = blockIdx.y * tile_m;
  const int first_tile = blockIdx.x * walk;
//% else
  const int first_row = blockIdx.x * tile_m;
  const int first_tile = blockIdx.y * walk;
//% end
  const shared_address smem = shared_address_of(smem_storage);
  const shared_address k_tiles = smem + q_bytes;

//% if sm >= 90 && pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  const e4m3* q_head = q + (long long)head * M * head_dim;
  const e4m3* k_head = k + (long long)head * N * head_dim;
  Score* s_head = s + (long long)head * M * N;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);

//% if q_operand != 'global'
  copy_tile<tile_m, threads>(smem, q_head, first_row, M, threadIdx.x);
//%   if copy == 'cp_async'
  commit_copies();
//%   end
//% end
//% if copy == 'cp_async'
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is
  // the same all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_n, threads>(k_tiles + stage * tile_bytes, k_head, (first_tile + i) * tile_n, N,
                                 threadIdx.x);
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);
//% end

  const float scale = score_scale(q_scale, k_scale, head);

//% if q_operand == 'global'
  RowsHalf query[halves][m_tiles];
#pragma unroll
  for (int half = 0; half < halves; ++half) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) {
      load_rows_half(query[half][m], q_head, first_row + warp_row + 16 * m, M, half, lane);
    }
  }
//% elif q_operand == 'registers'
//%   if copy == 'cp_async'
  wait_for_copies<stages>();
//%   end
  __syncthreads();
  RowsHalf query[halves][m_tiles];
#pragma unroll
  for (int half = 0; half < halves; ++half) {
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) load_rows_half(query[half][m], smem, warp_row + 16 * m, half, lane);
  }
//% end

//% if stages > 1
  int stage = 0;
//% else
  constexpr int stage = 0;
//% end
//% if walk > 1
#pragma unroll ${unroll}
  for (int i = 0; i < tiles; ++i) {
//% else
  {
    constexpr int i = 0;
//% end
    const int first_key = (first_tile + i) * tile_n;
    const shared_address k_tile = k_tiles + stage * tile_bytes;
//% if copy == 'cp_async'
    wait_for_copies<stages - 1>();
    __syncthreads();
//% else
//%   if walk > 1
    __syncthreads();  // the tile before is done with
//%   end
    copy_tile<tile_n, threads>(k_tile, k_head, first_key, N, threadIdx.x);
    __syncthreads();
//% end

    float scores[m_tiles][n_tiles][4] = {};
#pragma unroll
    for (int half = 0; half < halves; ++half) {
      const auto load_keys = [&](e4m3x4(&codes)[4], int n) {
        load_8_rows_half(codes, k_tile, warp_key + 8 * n, half, lane);
      };
//% if q_operand == 'smem'
      RowsHalf query[m_tiles];
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) load_rows_half(query[m], smem, warp_row + 16 * m, half, lane);
      multiply_half(scores, query, load_keys);
//% else
      multiply_half(scores, query[half], load_keys);
//% end
    }
//% if copy == 'cp_async' && walk > 1
    if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
    start_copy(i + stages, stage);
//% end
    store_scores(s_head, scores, scale, first_row, first_key, warp_row, warp_key, M, N, lane,
                 smem + q_bytes + stages * tile_bytes);
//% if stages > 1
    stage = stage + 1 == stages ? 0 : stage + 1;
//% end
  }
}
