// fp8_attention/wgmma: attention of e4m3 queries over e4m3 keys and values as inference engines call it, in one pass over
// the keys. A CTA has ${tile_q} query rows${pack ? ', of all query heads that share a head of keys' : ' of one head'}: ${warpgroups_q} consumer warpgroup(s) side by side over the rows,
// ${warpgroups_k} group(s) of them over the keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the
// layouts.

//% include "include/types.cuh"

//% include "include/convert.cuh"

//% include "include/memory.cuh"

//% include "include/swizzle.cuh"

//% include "include/ldmatrix.cuh"

//% include "include/stmatrix.cuh"

//% include "include/math.cuh"

//% include "include/f16x2.cuh"

//% include "include/warp.cuh"

//% include "include/warpgroup.cuh"

//% include "include/mbarrier.cuh"

//% include "include/tma.cuh"

//% include "include/wgmma.cuh"

//% if split_over_cluster
//%   include "include/cluster.cuh"

//% end
//% if pdl != 'none'
//%   include "include/grid_dependency.cuh"

//% end
//% if true
//%   let product_name = 'multiply_qk'
//%   let product_columns = tile_k
//%   let product_type = score_type
//%   let product_rows = q_operand == 'smem' ? 'smem' : 'registers'
//%   let product_operands = 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
//% if output_parts > 1
//%   let product_name = 'multiply_pv'
//%   let product_columns = part_columns
//%   let product_type = 'f32'
//%   let product_rows = 'registers'
//%   let product_operands = 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
//% if true
//%   let product_name = 'multiply_pv_last'
//%   let product_columns = part_columns + sum_columns
//%   let product_type = 'f32'
//%   let product_rows = 'registers'
//%   let product_operands = v_path == 'widened' ? 'f16' : 'e4m3'
//%   include "include/wgmma_product.cuh"

//% end
constexpr int head_dim = ${D};
constexpr int tile_k = ${tile_k};                // keys of one tile
constexpr int tile_q = ${tile_q};                // query rows of the CTA
constexpr int row_bytes = ${row_bytes};             // of q, k and v in shared memory: longer rows lie in panels
constexpr int row_panels = ${D / row_bytes};
constexpr int row_warpgroups = ${warpgroups_q};          // of a group
constexpr int groups = ${warpgroups_k};
constexpr int kv_split = ${kv_split};                // CTAs that share a query tile
constexpr int stages = ${stages};                  // tiles of a group in shared memory
//% if preparing_warps > 0
constexpr int preparing_warps = ${preparing_warps};         // warps that share the preparation of a value tile
//% end
constexpr int consumer_threads = ${128 * warpgroups};
constexpr int threads = ${threads};
constexpr int score_registers = tile_k / ${score_type == 'f32' ? 2 : 4};
constexpr int weight_registers = ${weight_registers};
constexpr int part_registers = ${part_columns / 2};         // of the output, ${output_parts} part(s)
constexpr int o_registers = ${(D + sum_columns) / 2};
constexpr int group_bytes = ${group_bytes};        // of a group's tiles, and of its partial rows later
//% if merges
constexpr int merging_threads = consumer_threads;
//% end
//% if warpgroups_k > 1 || schedule == 'ping_pong' || q_operand == 'smem' && score_type == 'f16'
constexpr int consumers_barrier = groups + 1;    // 1..groups: of a group; 0: of __syncthreads
//% end
//% if schedule == 'ping_pong'
constexpr int turn_barrier = groups + 2;         // of the first warpgroup; the second's follows
//% end
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
typedef ${score_type == 'f32' ? 'float' : 'f16x2'} Score;

//% slot exponential

// Rows may see no key at all, as those of a causal mask that have none before them.
//% let mask = 'causal'
//% include "fp8_sdpa/wgmma/softmax.cuh"

//% include "fp8_sdpa/wgmma/shared_memory.cuh"

//% include "work.cuh"

//% include "fp8_sdpa/wgmma/values.cuh"

//% include "loads.cuh"

//% include "producer.cuh"

//% include "fp8_sdpa/wgmma/query.cuh"

//% include "rows.cuh"

//% let consumers_prepare = v_path == 'consumers' || v_path == 'all'
//% include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    fp8_attention(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                  const __grid_constant__ TensorMap v_map, const e4m3* __restrict__ q,
                  const float* __restrict__ q_scale, const float* __restrict__ k_scale,
                  const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ lse,
                  float* __restrict__ partial_o, float2* __restrict__ partial_statistics,
                  const int* __restrict__ cu_seqlens_q, const int* __restrict__ cu_seqlens_kv,
                  const int* __restrict__ page_table, const int* __restrict__ kv_lengths,
                  const __grid_constant__ Sizes sizes) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const Problem problem = {sizes${cu_seqlens ? ', cu_seqlens_q' : ''}${cu_seqlens && page == 0 ? ', cu_seqlens_kv' : ''}${page > 0 ? ', page_table, kv_lengths' : ''}};

  if (threadIdx.x == consumer_threads) {
//% if q_operand != 'global'
    prefetch_tensor_map(q_map);
//% end
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    init_barriers(smem);
  }
//% if sum_columns > 0
  write_ones(smem);
  publish_to_async_proxy();
//% end
  __syncthreads();
//% if v_path != 'prepass' && pdl != 'none'
  wait_for_launch_ahead();
//% end
//% if pdl == 'early'
  start_launch_behind();
//% end

  if (threadIdx.x >= consumer_threads) {
//% if register_split
    shrink_registers_to<${producer_registers}>();
//% end
//% if producer_prepares
    produce(smem, q_map, k_map, v_map, problem, threadIdx.x / 32 - ${4 * warpgroups}, threadIdx.x % 32);
//% else
    if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, problem);
//% end
  } else {
//% if register_split
    grow_registers_to<${consumer_registers}>();
//% end
    consume(smem, {q, q_scale, k_scale, v_scale, o, lse, partial_o, partial_statistics, problem});
  }
}
//% if v_path == 'prepass'

//%   include "prepass.cuh"
//% end
//% if split_over_grid

//%   include "combine.cuh"
//% end
