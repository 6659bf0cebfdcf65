// grouped_gemm/wgmma: rows of bf16 a [T, K] by the weights b[e] [${act == 'silu_mul' ? '2 ' : ''}N, K] of their expert, f32 sums, ${out} c. As many CTAs as
// run at once make tile after tile of ${tile_m} x ${tile_n} elements: ${warpgroups} consumer warpgroup(s) of ${m_blocks} block(s) of 64 ${rows == 'tokens' ? 'rows' : 'columns'}
// each, and a producer that brings operands with TMA. ${cluster_n == 1 ? 'Each works by itself.' : 'Clusters of two CTAs make tiles side by side; each brings half of a for both.'}

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/stmatrix.cuh"
#include "include/warpgroup.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/wgmma.cuh"
#include "include/cluster.cuh"
#include "include/multicast.cuh"
#include "include/grid_dependency.cuh"

//% include "include/wgmma_product.cuh" with name = 'multiply', columns = across, operands = 'bf16', rows = 'smem', accumulates = 'asked'

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k};
constexpr int stages = ${stages};
constexpr int warpgroups = ${warpgroups};            // that consume
constexpr int m_blocks = ${m_blocks};              // blocks of 64 rows of a warpgroup
constexpr bool rows_are_tokens = ${rows == 'tokens'};  // of a product; else they are columns of the result
constexpr int product_rows = 64 * warpgroups * m_blocks;
constexpr int across = ${across};              // columns of a product
constexpr int cluster_n = ${cluster_n};             // CTAs side by side over the columns
constexpr int ctas_of_row = cluster_n;
constexpr int consumer_threads = 128 * warpgroups;
constexpr int threads = ${threads};
constexpr int a_bytes = ${a_bytes};           // of a stage
constexpr int part_bytes = ${part_bytes};        // of a stage, one matrix of b
constexpr int min_blocks = ${min_blocks};            // that must fit on an SM
constexpr bool register_split = ${register_split};    // the producer gives registers to the consumers
constexpr int tile_slots = ${tile_slots};              // places for the next tiles
constexpr bool takes_tiles = ${takes_tiles};       // from a counter
constexpr bool waits_for_launches = ${pdl};
constexpr int split_k = 1;

#include "gemm_bf16/results.cuh"
#include "gemm_bf16/work.cuh"

#include "grouped_gemm/activation.cuh"
#include "grouped_gemm/experts.cuh"

#include "shared_memory.cuh"

__device__ __forceinline__ int own_rank() { return cluster_n > 1 ? rank_in_cluster() : 0; }

__device__ __forceinline__ void pin_sums(float (&acc)[parts][m_blocks][across / 2]) {
#pragma unroll
  for (int part = 0; part < parts; ++part)
#pragma unroll
    for (int block = 0; block < m_blocks; ++block) pin_registers(acc[part][block]);
}

#include "tiles.cuh"

#include "producer.cuh"

//% if rows == 'tokens'
//% slot epilogue
//% else
#include "transposed.cuh"
//% end

#include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    grouped_gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                 const int* __restrict__ offsets, u32* next_tile, Output* __restrict__ c, int E, int N, int K) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  if (threadIdx.x == consumer_threads) {
    prefetch_tensor_map(a_map);
    prefetch_tensor_map(b_map);
    init_barriers(smem);
  }
  if constexpr (cluster_n > 1) {
    sync_cluster();  // nobody sends to a CTA whose barriers are not there yet
  } else {
    __syncthreads();
  }
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }

  if (threadIdx.x >= consumer_threads) {
    if constexpr (register_split) shrink_registers_to<${producer_registers}>();
    if (threadIdx.x == consumer_threads) produce(smem, a_map, b_map, offsets, next_tile, E, N, K);
  } else {
    if constexpr (register_split) grow_registers_to<${consumer_registers}>();
    consume(smem, c, N, K);
  }
  if constexpr (cluster_n > 1) {
    __syncwarp();
    sync_cluster();  // others may still arrive at this CTA's barriers
  }
}
