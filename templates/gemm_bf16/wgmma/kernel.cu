// gemm_bf16/wgmma: c = a b with bf16 a [M, K], b ${b_layout == 'nk' ? '[N, K]' : '[K, N]'} and f32 sums, ${out} c. A CTA makes tiles of ${tile_m} x ${tile_n}
// elements: ${warpgroups} consumer warpgroup(s) of ${m_blocks} block(s) of 64 rows each, and a producer that brings operands with TMA.
// ${cluster_m} x ${cluster_n} CTAs form a cluster: what several of them need is loaded once.

#include "include/gemm/wgmma/prelude.cuh"
enum class Epilogue { direct, tma };
constexpr Epilogue epilogue = Epilogue::${epilogue};

#include "include/gemm/wgmma/tiles.cuh"
#include "include/gemm/wgmma/products.cuh"
#include "include/gemm/wgmma/producer.cuh"

//% slot epilogue

__device__ __forceinline__ void consume(const SharedMemory& smem, const TensorMap& c_map, Result* c, int M, int N,
                                        int K) {
  const int own_row = own_first_row();
  const StageRelease release = stage_release(smem, rank_of_lane());
  RingPlace<stages> place;
  for_each_tile(M, N, K, [&](const Tile& tile) {
    Sums sums;
    sum_products(sums, smem, place, own_row, tile.depth.first, tile.depth.end, 1, release);
    store_results(smem, c_map, c, sums[0], tile, own_row, M, N);
  });
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    gemm_bf16(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
              const __grid_constant__ TensorMap c_map, Result* __restrict__ c, int M, int N, int K) {
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
      [&] { consume(smem, c_map, c, M, N, K); });
  end_cta();
}

#include "include/gemm/reduce.cuh"
