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

#include "include/scores/epilogue.cuh"

//% slot epilogue

// Queries | stages of keys | scores on their way out | barriers. Rows are swizzled as TMA does it.
struct SharedMemory {
  shared_address start;

  __device__ __forceinline__ shared_address keys(int stage) const { return start + q_bytes + stage * tile_bytes; }
  __device__ __forceinline__ shared_address staging() const { return keys(stages); }
  __device__ __forceinline__ shared_address queries_here() const { return staging() + ${staging_bytes}; }
  __device__ __forceinline__ shared_address keys_here(int stage) const { return queries_here() + 8 + 8 * stage; }
};

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
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
//% if grid_order == 'keys_first'
  const int first_row = blockIdx.y * tile_m;
  const int first_tile = blockIdx.x * walk;
//% else
  const int first_row = blockIdx.x * tile_m;
  const int first_tile = blockIdx.y * walk;
//% end
  const int tiles = min(walk, (N + tile_n - 1) / tile_n - first_tile);
  const auto load_keys = [&](int i, int stage) {
    arrive_expecting(smem.keys_here(stage), tile_bytes);
    load_box(smem.keys(stage), k_map, smem.keys_here(stage), 0, (first_tile + i) * tile_n, head);
  };

  if (threadIdx.x == 0) {
    prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
//% if epilogue == 'tma'
    prefetch_tensor_map(s_map);
//% end
    init_barrier(smem.queries_here(), 1);
#pragma unroll
    for (int stage = 0; stage < stages; ++stage) init_barrier(smem.keys_here(stage), 1);
    publish_barriers();
  }
  __syncthreads();
//% if pdl
  wait_for_launch_ahead();
  start_launch_behind();
//% end
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
//% if q_operand == 'registers'
  e4m3x4 query[m_tiles][head_dim / 32][4];
#pragma unroll
  for (int block = 0; block < m_tiles; ++block) {
#pragma unroll
    for (int step = 0; step < head_dim / 32; ++step) {
      load_matrices(query[block][step], smem.start + xor_offset<head_dim>(warp_row + 64 * block + lane % 16,
                                                                          2 * step + lane / 16));
    }
  }
//% else
  const matrix_descriptor query = describe_matrix<head_dim>(smem.start + block_row * head_dim);
//% end

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
//% for step in 0..D / 32
#pragma unroll
    for (int block = 0; block < m_tiles; ++block) {
//%   if q_operand == 'registers'
      multiply<${step > 0}>(scores[block][0], query[block][${step}], along_rows(keys, ${32 * step}));
//%   else
      multiply<${step > 0}>(scores[block][0], along_rows(query, block * 64 * head_dim + ${32 * step}),
                  along_rows(keys, ${32 * step}));
//%   end
    }
//% end
    commit_products();
    wait_for_products<0>();
    pin_scores();
//% if walk > 1 && epilogue == 'staged'
    __syncthreads();  // every warp is done with the stage, and the scores before have left
//% elif stages < walk
    if (i + stages < tiles) __syncthreads();  // every warp is done with the stage
//% end
//% if stages < walk
    if (threadIdx.x == 0 && i + stages < tiles) load_keys(i + stages, place.stage);
//% end
    const int first_key = (first_tile + i) * tile_n;
//% if epilogue == 'tma'
    if (N % (16 / (int)sizeof(Score)) == 0) {
      store_panels(s_map, smem.staging(), scores, scale, first_row, first_key, head);
    } else {
      store_scores(s_head, scores, scale, first_row, first_key, warp_row, 0, M, N, lane, smem.staging());
    }
//% else
    store_scores(s_head, scores, scale, first_row, first_key, warp_row, 0, M, N, lane, smem.staging());
//% end
    place.advance();
  }
//% if epilogue == 'tma'
  if (threadIdx.x % 128 == 0) wait_for_stores();
//% end
}
