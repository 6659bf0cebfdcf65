// gemm_fp8/wgmma: c = a b^T with e4m3 a [M, K], b [N, K] and bf16 c; scales: ${scaling}. A CTA makes tiles of ${tile_m} x ${tile_n} elements:
// ${warpgroups} consumer warpgroup(s) of ${m_blocks} block(s) of 64 rows each, and a producer that brings operands with TMA.
// ${cluster_m} x ${cluster_n} CTAs form a cluster: what several of them need is loaded once.

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

//% include "include/wgmma_product.cuh" with name = 'multiply', columns = tile_n, operands = 'e4m3', rows = 'smem', accumulates = 'asked'

#include "gemm_fp8/choices.cuh"

constexpr int tile_m = ${tile_m};
constexpr int tile_n = ${tile_n};
constexpr int tile_k = ${tile_k / 2};               // in pairs of codes
constexpr int stages = ${stages};
constexpr int warpgroups = ${warpgroups};            // that consume
constexpr int m_blocks = ${m_blocks};              // blocks of 64 rows of a warpgroup
constexpr int summed_tiles = ${summed_tiles};            // of the depth, by the tensor cores; 0: all
constexpr int parts = ${parts};                   // sums of tensor cores: one is promoted while the other grows
constexpr int cluster_m = ${cluster_m};
constexpr int cluster_n = ${cluster_n};
constexpr int cluster_size = cluster_m * cluster_n;
constexpr int consumer_threads = 128 * warpgroups;
constexpr int threads = ${threads};
constexpr int a_bytes = ${a_bytes};           // of a stage
constexpr int b_bytes = ${b_bytes};
constexpr int min_blocks = ${min_blocks};            // that must fit on an SM
constexpr bool persistent = ${persistent};        // CTAs make tile after tile
constexpr bool register_split = ${register_split};    // the producer gives registers to the consumers
enum class Epilogue { direct, tma };
constexpr Epilogue epilogue = Epilogue::${epilogue};
typedef ${result_bytes == 2 ? 'half_bits' : 'float'} Result;               // c, or parts of the sums

//% let out = 'bf16'
#include "gemm_bf16/results.cuh"
#include "gemm_bf16/work.cuh"

#include "gemm_bf16/wgmma/tiles.cuh"

#include "gemm_bf16/wgmma/shared_memory.cuh"

#include "gemm_bf16/wgmma/producer.cuh"

//% slot epilogue

#include "gemm_fp8/scales.cuh"

#include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    gemm_fp8(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
             const __grid_constant__ TensorMap c_map, const float* __restrict__ a_scale,
             const float* __restrict__ b_scale, Result* __restrict__ c, int M, int N, int K) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  if (threadIdx.x == consumer_threads) {
    prefetch_tensor_map(a_map);
    prefetch_tensor_map(b_map);
    if constexpr (epilogue == Epilogue::tma) prefetch_tensor_map(c_map);
    init_barriers(smem);
  }
  if constexpr (cluster_size > 1) {
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
    if (threadIdx.x == consumer_threads) produce(smem, a_map, b_map, M, N, K);
  } else {
    if constexpr (register_split) grow_registers_to<${consumer_registers}>();
    consume(smem, c_map, Scales{a_scale, b_scale, M, N, (K + 63) / 64}, c, M, N, K);
  }
  if constexpr (cluster_size > 1) {
    __syncwarp();
    sync_cluster();  // others may still arrive at this CTA's barriers
  }
}

#include "gemm_bf16/reduce.cuh"
