// sim_fp8_qkt/mma_sync: s = q k^T${scaled ? ' / sqrt(D)' : ''} on affine codes of 8 bits, ${out} scores. A CTA has ${tile_m} query rows of one
// head and works through ${walk} tile(s) of ${tile_n} keys; ${warps_m} x ${warps_n} warps share each tile.
//% let copy = 'cp_async'

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/cp_async.cuh"

//% include "include/swizzle.cuh"

//% include "include/ldmatrix.cuh"

//% include "include/mma.cuh"

//% include "include/f16x2.cuh"

//% if waits_for_launches
//%   include "include/grid_dependency.cuh"

//% end
//% include "include/affine_codes.cuh"

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
constexpr int row_bytes = ${row_bytes};
constexpr int tile_bytes = ${tile_bytes};               // of a key tile in shared memory
constexpr int q_bytes = ${q_bytes};                     // of the query tile
typedef decoders::${dequant} KeyDecoder;

//% include "include/tiles.cuh"

//% include "include/affine_queries.cuh"

//% include "include/scores/epilogue.cuh"

//% slot epilogue

//% if dequant == 'raw'
// The keys' zero point counts once for each code of the query.
__device__ __forceinline__ void take_off_zero_point(float (&scores)[n_tiles][4], const QueryRows& query, float zero) {
  constexpr f16x2 ones = 0x3c003c00u;
  float sum[4] = {};
#pragma unroll
  for (int step = 0; step < depth_steps; ++step) mma_f16(sum, query[step], ones, ones);
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[n][i] = fmaf(scores[n][i], KeyDecoder::unit, -zero * sum[i]);
  }
}

//% end
//% if register_cap > 0
extern "C" __global__ void sim_fp8_qkt(
//% else
extern "C" __global__ void __launch_bounds__(threads, ${min_blocks}) sim_fp8_qkt(
//% end
    const unsigned char* __restrict__ q, const unsigned char* __restrict__ k, const float* __restrict__ q_scales,
    const float* __restrict__ k_scales, const unsigned char* __restrict__ q_zeros,
    const unsigned char* __restrict__ k_zeros, Score* __restrict__ s, int M, int N) {
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
  const shared_address staging = k_tiles + stages * tile_bytes;
  const shared_address table = staging + ${staging_bytes};

//% if waits_for_launches
  wait_for_launch_ahead();
  start_launch_behind();
//% end
  const unsigned char* q_head = q + (long long)head * M * head_dim;
  const unsigned char* k_head = k + (long long)head * N * head_dim;
  Score* s_head = s + (long long)head * M * N;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);

//% if q_operand != 'global'
  copy_tile<tile_m, threads>(smem, q_head, first_row, M, threadIdx.x);
  commit_copies();
//% end
  // Tile i goes to stage i % stages. Groups are closed for tiles past the last too, so that counting them is the same
  // all the way.
  const auto start_copy = [&](int i, int stage) {
    if (i < tiles) {
      copy_tile<tile_n, threads>(k_tiles + stage * tile_bytes, k_head, (first_tile + i) * tile_n, N, threadIdx.x);
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < stages; ++stage) start_copy(stage, stage);

  const int k_zero = k_zeros[scale_index(head)];
  const BytesDecoder query_decoder(q_zeros[scale_index(head)]);
  const KeyDecoder key_decoder(k_zero, table);
//% if dequant == 'table'
  fill_table<threads>(table, k_zero, threadIdx.x);
//% end
//% if dequant == 'raw'
  const float scale = score_scale(q_scales, k_scales, head);
//% else
  const float scale = score_scale(q_scales, k_scales, head) * KeyDecoder::unit;
//% end

  QueryRows query[m_tiles];
//% if q_operand == 'global'
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) load_query(query[m], q_head, first_row + warp_row + 16 * m, M, query_decoder, lane);
//% else
  wait_for_copies<stages>();
  __syncthreads();
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) load_query(query[m], smem, warp_row + 16 * m, query_decoder, lane);
//% end

  int stage = 0;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    const shared_address k_tile = k_tiles + stage * tile_bytes;
    wait_for_copies<stages - 1>();
    __syncthreads();

    float scores[m_tiles][n_tiles][4] = {};
    multiply_qk(scores, query, k_tile + warp_key * row_bytes, key_decoder, lane);
//% if dequant == 'raw'
#pragma unroll
    for (int m = 0; m < m_tiles; ++m) take_off_zero_point(scores[m], query[m], (float)k_zero);
//% end

    if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
    start_copy(i + stages, stage);
    store_scores(s_head, scores, scale, first_row, (first_tile + i) * tile_n, warp_row, warp_key, M, N, lane, staging);
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
}
