// fp8_qkt/wgmma: s = (q k^T) q_scale k_scale${scaled ? ' / sqrt(D)' : ''} with e4m3 q, k and one scale
// a ${scales}, ${out} scores. A CTA has ${tile_m} query rows of one head: ${warpgroups} warpgroup(s) of ${m_blocks} block(s) of 64
// each. It works through ${walk} tile(s) of ${tile_n} keys that TMA brings.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/warpgroup.cuh"
#include "include/stmatrix.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/wgmma.cuh"
#include "include/grid_dependency.cuh"

//% include "include/wgmma_product.cuh" with name = 'multiply', columns = tile_n, operands = 'e4m3', rows = q_operand

constexpr int head_dim = ${D};
constexpr int tile_m = ${tile_m};                       // query rows of the CTA
constexpr int tile_n = ${tile_n};                       // keys of one tile
constexpr int walk = ${walk};                           // key tiles of the CTA
constexpr int stages = ${stages};                       // key tiles in shared memory
constexpr int m_tiles = ${m_blocks};                      // blocks of 64 rows of a warpgroup: a warp has 16 of each
constexpr int m_step = 64;                              // rows from one of these to the next
constexpr int n_tiles = tile_n / 8;
constexpr int threads = ${threads};
constexpr int tile_bytes = tile_n * head_dim;           // of a key tile in shared memory
constexpr int q_bytes = tile_m * head_dim;              // of the query tile
constexpr int min_blocks = ${min_blocks};               // CTAs that must fit on an SM
constexpr bool keys_first = ${grid_order == 'keys_first'};
constexpr bool waits_for_launches = ${pdl};
enum class Epilogue { pairs, staged, tma, wide };
constexpr Epilogue epilogue = Epilogue::${epilogue};

// Where scores are on their way out. TMA also needs their map and their head.
struct Staging {
  shared_address start;
  const TensorMap& map;
  int head;

  __device__ __forceinline__ operator shared_address() const { return start; }
};

#include "include/scores/epilogue.cuh"

//% slot epilogue

#include "queries.cuh"

// Queries | stages of keys | scores on their way out | barriers. Rows are swizzled as TMA does it.
struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address keys(int stage) const { return start + q_bytes + stage * tile_bytes; }
  __device__ __forceinline__ shared_address staging() const { return keys(stages); }
  __device__ __forceinline__ shared_address queries_here() const { return staging() + ${staging_bytes}; }
  __device__ __forceinline__ shared_address keys_here(int stage) const { return queries_here() + 8 + 8 * stage; }
};

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    fp8_qkt(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
            const __grid_constant__ TensorMap s_map, const float* __restrict__ q_scale,
            const float* __restrict__ k_scale, Score* __restrict__ s, int M, int N) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const int lane = threadIdx.x % 32;
  const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // the compiler sees that a warp has one only
  const int block_row = warpgroup * 64 * m_tiles;
  const int warp_row = block_row + threadIdx.x / 32 % 4 * 16;
  const int head = blockIdx.z;
  const int first_row = (keys_first ? blockIdx.y : blockIdx.x) * tile_m;
  const int first_tile = (keys_first ? blockIdx.x : blockIdx.y) * walk;
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);
  const auto load_keys = [&](int i, int stage) {
    arrive_expecting(smem.keys_here(stage), tile_bytes);
    load_box(smem.keys(stage), k_map, smem.keys_here(stage), 0, (first_tile + i) * tile_n, head);
  };

  if (threadIdx.x == 0) {
    prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
    if constexpr (epilogue == Epilogue::tma) prefetch_tensor_map(s_map);
    init_barrier(smem.queries_here(), 1);
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) init_barrier(smem.keys_here(stage), 1);
    publish_barriers();
  }
  __syncthreads();
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
  if (threadIdx.x == 0) {
    arrive_expecting(smem.queries_here(), q_bytes);
    load_box(smem.start, q_map, smem.queries_here(), 0, first_row, head);
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) {
      if (stage < tiles) load_keys(stage, stage);
    }
  }
  const float scale = score_scale(q_scale, k_scale, head);
  Score* s_head = s + (long long)head * M * N;

  wait_for(smem.queries_here(), 0);
  Queries queries;
  queries.load(smem.start, block_row, warp_row, lane);

  RingPlace<stages> place;
#pragma unroll 1
  for (int i = 0; i < tiles; ++i) {
    wait_for(smem.keys_here(place.stage), place.full_parity());
    const matrix_descriptor keys = describe_matrix<head_dim>(smem.keys(place.stage));
    float scores[m_tiles][n_tiles][4];
    const auto pin_scores = [&] {
#pragma unroll
      for (int block = 0; block < m_tiles; ++block) {
        pin_registers(reinterpret_cast<float(&)[4 * n_tiles]>(scores[block]));
      }
    };
    pin_scores();
    start_products();
    multiply_qk(scores, queries, keys);
    commit_products();
    wait_for_products<0>();
    pin_scores();
    if constexpr (walk > 1 && epilogue == Epilogue::staged) {
      __syncthreads();  // every warp is done with the stage, and the scores before have left
    } else if constexpr (stages < walk) {
      if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
    }
    if constexpr (stages < walk) {
      if (threadIdx.x == 0 && i + stages < tiles) load_keys(i + stages, place.stage);
    }
    const int first_key = (first_tile + i) * tile_n;
    store_scores(s_head, scores, scale, first_row, first_key, warp_row, 0, M, N, lane,
                 Staging{smem.staging(), s_map, head});
    place.advance();
  }
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}
