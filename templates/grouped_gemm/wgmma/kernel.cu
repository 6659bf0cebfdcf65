// grouped_gemm/wgmma: rows of bf16 a [T, K] by the weights b[e] [${act == 'silu_mul' ? '2 ' : ''}N, K] of their expert, f32 sums, ${out} c. As many CTAs as
// run at once make tile after tile of ${tile_m} x ${tile_n} elements: ${warpgroups} consumer warpgroup(s) of ${m_blocks} block(s) of 64 ${rows == 'tokens' ? 'rows' : 'columns'}
// each, and a producer that brings operands with TMA. ${cluster_n == 1 ? 'Each works by itself.' : 'Clusters of two CTAs make tiles side by side; each brings half of a for both.'}

//% include "include/gemm/wgmma/prelude.cuh" with rows, b_tiles = parts
constexpr int ctas_of_row = cluster_n;
constexpr int tile_slots = ${tile_slots};              // places for the next tiles
constexpr bool takes_tiles = ${takes_tiles};       // from a counter

// Whose rows a tile has.
#include "grouped_gemm/activation.cuh"
#include "grouped_gemm/experts.cuh"

// How operands come, and what is made of them.
#include "tiles.cuh"
#include "include/gemm/wgmma/products.cuh"
#include "producer.cuh"

// How results leave the registers.
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
  const TiledMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  start_cta(smem, a_map, b_map);
  split_roles(
      [&] {
        if (threadIdx.x == consumer_threads) produce(smem, a_map, b_map, offsets, next_tile, E, N, K);
      },
      [&] { consume(smem, c, N, K); });
  end_cta();
}
