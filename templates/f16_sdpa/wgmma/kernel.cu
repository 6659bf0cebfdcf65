// f16_sdpa/wgmma: o = softmax(scale q k^T) v with ${dtype} q, k, v, in one pass over the keys. A CTA has ${tile_q} query rows
// of one head: ${warpgroups_q} consumer warpgroup(s) side by side over the rows, ${warpgroups_k} group(s) of them over the keys, and a producer
// that brings tiles. docs/kernels/f16_sdpa.md tells the algorithm and the layouts.

#include "include/types.cuh"
#include "include/convert.cuh"
#include "include/memory.cuh"
#include "include/swizzle.cuh"
#include "include/ldmatrix.cuh"
#include "include/stmatrix.cuh"
#include "include/math.cuh"
#include "include/warp.cuh"
#include "include/warpgroup.cuh"
#include "include/mbarrier.cuh"
#include "include/tma.cuh"
#include "include/wgmma.cuh"
#include "include/cluster.cuh"
#include "include/grid_dependency.cuh"

//% include "include/wgmma_product.cuh" with name = 'multiply_qk', columns = tile_k, operands = dtype, rows = q_operand == 'smem' ? 'smem' : 'registers'

//% include "include/wgmma_product.cuh" with name = 'multiply_early_qk', columns = early_keys, operands = dtype, rows = q_operand == 'smem' ? 'smem' : 'registers'

//% include "include/wgmma_product.cuh" with name = 'multiply_pv', columns = D, operands = dtype, b = 'columns'

constexpr int head_dim = ${D};
constexpr int row_panels = head_dim / 64;        // q, k, v lie in panels of 64 columns, 128 bytes a row
constexpr int tile_k = ${tile_k};                  // keys of one tile
constexpr int tile_q = ${tile_q};                 // query rows of the CTA
constexpr int row_warpgroups = ${warpgroups_q};            // of a group
constexpr int groups = ${warpgroups_k};
constexpr int kv_split = ${kv_split};                  // CTAs that share a query tile
constexpr int stages = ${stages};                    // tiles of a group in shared memory
constexpr int consumer_threads = ${128 * warpgroups};
constexpr int threads = ${threads};
constexpr int score_registers = tile_k / 2;
constexpr int o_registers = head_dim / 2;
constexpr int group_bytes = ${group_bytes};          // of a group's tiles, and of its partial rows later
constexpr int merging_threads = consumer_threads;
constexpr int consumers_barrier = groups + 1;    // 1..groups: of a group; 0: of __syncthreads
constexpr int turn_barrier = 2;                  // of the first warpgroup; the others' follow
constexpr int staging_barrier = groups + 4;      // of the first row warpgroup; the others' follow
constexpr int producer_registers = ${producer_registers};      // of a thread, if registers are split
constexpr int consumer_registers = ${consumer_registers};
constexpr int head_bytes_per_key = 4 * head_dim;
constexpr int early_keys = ${early_keys};              // of a tile: their output may start before the others are weighed
constexpr int early_scores = early_keys / 2;
typedef float TileScores[score_registers];

#include "f16_sdpa/choices.cuh"
constexpr QueryOperand q_operand = QueryOperand::${q_operand};
constexpr Schedule schedule = Schedule::${schedule};
constexpr Epilogue epilogue = Epilogue::${epilogue};
constexpr DependentLaunch pdl = DependentLaunch::${pdl};
constexpr bool register_split = ${register_split};
constexpr bool takes_works = ${takes_works};             // from a queue
constexpr bool passes_tiles = ${passes_tiles};           // those that no row of the warpgroup sees,
constexpr bool passes_before = ${passes_before};          // ahead of the others
constexpr bool passes_after = ${passes_after};           // and behind them

#include "f16_sdpa/softmax.cuh"

//% include "include/attention/shared_memory.cuh" with has_operands = false, k_bytes = tile_bytes, v_bytes = tile_bytes
// Values are multiplied as they come: nobody prepares them.
constexpr bool consumers_prepare = false;
constexpr int preparing_warp = 0;
__device__ __forceinline__ void prepare_values(const SharedMemory&, int, const RingPlace<stages>&, int, int) {}

#include "include/attention/work.cuh"
#include "include/attention/work_queue.cuh"
#include "include/attention/pass_tiles.cuh"
#include "include/attention/seen_tiles.cuh"
#include "f16_sdpa/rows.cuh"
#include "include/attention/staged_rows.cuh"
#include "loads.cuh"

//% let two_steps = false
#include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    f16_sdpa(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
             const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap o_map,
             const half_bits* __restrict__ q, half_bits* __restrict__ o, float* __restrict__ partial_o,
             float2* __restrict__ partial_statistics, u32* next_work, float softmax_scale, int S, int heads) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  if (threadIdx.x == consumer_threads) {
    if constexpr (q_operand != QueryOperand::global) prefetch_tensor_map(q_map);
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    if constexpr (takes_works) init_work_queue(smem);
    init_barriers(smem);
  }
  __syncthreads();
  if constexpr (waits_for_launches) wait_for_launch_ahead();
  if constexpr (pdl == DependentLaunch::early) start_launch_behind();

  if (threadIdx.x >= consumer_threads) {
    if constexpr (register_split) shrink_registers_to<producer_registers>();
    if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, next_work, S, heads);
  } else {
    if constexpr (register_split) grow_registers_to<consumer_registers>();
    constexpr float log2_e = 1.4426950408889634f;
    consume(smem, o_map, q, {o, partial_o, partial_statistics, S, heads}, softmax_scale * log2_e);
  }
}
//% if split_over_grid

#include "f16_sdpa/combine.cuh"
//% end
