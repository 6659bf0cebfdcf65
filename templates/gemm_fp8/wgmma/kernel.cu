// gemm_fp8/wgmma: c = a b^T with e4m3 a [M, K], b [N, K] and bf16 c; scales: ${scaling}. A CTA makes tiles of ${tile_m} x ${tile_n} elements:
// ${warpgroups} consumer warpgroup(s) of ${m_blocks} block(s) of 64 rows each, and a producer that brings operands with TMA.
// ${cluster_m} x ${cluster_n} CTAs form a cluster: what several of them need is loaded once.

//% include "include/gemm/wgmma/prelude.cuh" with operands = 'e4m3', tile_k = tile_k / 2
constexpr int summed_tiles = ${summed_tiles};            // of the depth, by the tensor cores; 0: all
constexpr int parts = ${parts};                   // sums of tensor cores: one is promoted while the other grows
enum class Epilogue { direct, tma };
constexpr Epilogue epilogue = Epilogue::${epilogue};

#include "include/gemm/wgmma/tiles.cuh"
#include "include/gemm/wgmma/products.cuh"
#include "include/gemm/wgmma/producer.cuh"

//% slot epilogue

#include "gemm_fp8/scales.cuh"

#include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    gemm_fp8(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
             const __grid_constant__ TensorMap c_map, const float* __restrict__ a_scale,
             const float* __restrict__ b_scale, Result* __restrict__ c, int M, int N, int K) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  if constexpr (epilogue == Epilogue::tma) {
    start_cta(smem, a_map, b_map, c_map);
  } else {
    start_cta(smem, a_map, b_map);
  }
  split_roles(
      [&] {
        if (threadIdx.x == consumer_threads) produce(smem, a_map, b_map, M, N, K);
      },
      [&] { consume(smem, c_map, Scales{a_scale, b_scale, M, N, (K + 63) / 64}, c, M, N, K); });
  end_cta();
}

#include "include/gemm/reduce.cuh"
