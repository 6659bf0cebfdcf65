// f16_sdpa/wgmma: o = softmax(scale q k^T) v with ${dtype} q, k, v, in one pass over the keys. A CTA has ${tile_q} query rows
// of one head: ${warpgroups_q} consumer warpgroup(s) side by side over the rows, ${warpgroups_k} group(s) of them over the keys, and a producer
// that brings tiles. docs/kernels/f16_sdpa.md tells the algorithm and the layouts.

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/swizzle.cuh"

//% if q_operand == 'registers'
//%   include "include/ldmatrix.cuh"

//% end
//% if epilogue == 'tma'
//%   include "include/stmatrix.cuh"

//% end
//% include "include/math.cuh"

//% include "include/warp.cuh"

//% include "include/warpgroup.cuh"

//% include "include/mbarrier.cuh"

//% include "include/tma.cuh"

//% include "include/wgmma.cuh"

//% if split_over_cluster
//%   include "include/cluster.cuh"

//% end
//% if waits_for_launches
//%   include "include/grid_dependency.cuh"

//% end
//% let product_dtype = dtype
//% for early in 0..(halves_diagonal ? 2 : 1)
//%   let product_name = early ? 'multiply_early_qk' : 'multiply_qk'
//%   let product_columns = early ? early_keys : tile_k
//%   let product_rows = q_operand == 'smem' ? 'smem' : 'registers'
//%   let product_b = 'rows'
//%   include "include/wgmma_half_product.cuh"

//% end
//% if true
//%   let product_name = 'multiply_pv'
//%   let product_columns = D
//%   let product_rows = 'registers'
//%   let product_b = 'columns'
//%   include "include/wgmma_half_product.cuh"

//% end
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
//% if merges
constexpr int merging_threads = consumer_threads;
//% end
//% if warpgroups_k > 1
constexpr int consumers_barrier = groups + 1;    // 1..groups: of a group; 0: of __syncthreads
//% end
//% if schedule == 'ping_pong'
constexpr int turn_barrier = 2;                  // of the first warpgroup; the others' follow
//% end
//% if epilogue == 'tma'
constexpr int staging_barrier = groups + 4;      // of the first row warpgroup; the others' follow
//% end

//% include "f16_sdpa/softmax.cuh"

//% let has_operands = false
//% let k_bytes = tile_bytes
//% let v_bytes = tile_bytes
//% include "include/attention/shared_memory.cuh"

//% let works_in_pairs = true
//% include "include/attention/work.cuh"

//% if takes_works
//%   let head_bytes_per_key = 4 * D
//%   include "include/attention/work_queue.cuh"

//% end
//% if passes_tiles
//%   let value_tile = 'values'
//%   include "include/attention/pass_tiles.cuh"

//%   include "include/attention/seen_tiles.cuh"

//% end
//% include "f16_sdpa/rows.cuh"

//% include "loads.cuh"

//% if epilogue == 'tma'
//%   let row_dtype = dtype
//%   include "include/attention/staged_columns.cuh"

//%   include "include/attention/staged_rows.cuh"

//% end
//% let two_steps = false
//% let consumers_prepare = false
//% include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    f16_sdpa(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
             const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap o_map,
             const half_bits* __restrict__ q, half_bits* __restrict__ o, float* __restrict__ partial_o,
             float2* __restrict__ partial_statistics, u32* next_work, float softmax_scale, int S, int heads) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes

  if (threadIdx.x == consumer_threads) {
//% if q_operand != 'global'
    prefetch_tensor_map(q_map);
//% end
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
//% if takes_works
    init_work_queue(smem);
//% end
    init_barriers(smem);
  }
  __syncthreads();
//% if waits_for_launches
  wait_for_launch_ahead();
//% end
//% if pdl == 'early'
  start_launch_behind();
//% end

  if (threadIdx.x >= consumer_threads) {
//% if register_split
    shrink_registers_to<${producer_registers}>();
//% end
    if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, next_work, S, heads);
  } else {
//% if register_split
    grow_registers_to<${consumer_registers}>();
//% end
    constexpr float log2_e = 1.4426950408889634f;
    consume(smem, o_map, q, {o, partial_o, partial_statistics, S, heads}, softmax_scale * log2_e);
  }
}
//% if split_over_grid

//%   include "f16_sdpa/combine.cuh"
//% end
