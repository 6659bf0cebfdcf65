// fp8_sdpa/wgmma: o = softmax(q k^T / sqrt(D)) v with e4m3 q, k, v and one scale a head, in one pass over the keys. A
// CTA has ${tile_q} query rows of one head: ${warpgroups_q} consumer warpgroup(s) side by side over the rows, ${warpgroups_k} group(s) of them
// over the keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the layouts.

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

//% if pdl != 'none'
//%   include "include/grid_dependency.cuh"

//% end
//% if true
//%   let product_name = 'multiply_qk'
//%   let product_columns = tile_k
//%   let product_type = score_type
//%   let product_rows = q_operand == 'smem' ? 'smem' : 'registers'
//%   include "include/wgmma_product.cuh"

//% end
//% if true
//%   let product_name = 'multiply_pv'
//%   let product_columns = v_rows
//%   let product_type = 'f32'
//%   let product_rows = 'registers'
//%   include "include/wgmma_product.cuh"

//% end
constexpr int head_dim = ${D};
constexpr int tile_k = ${tile_k};                              // keys of one tile
constexpr int tile_q = ${tile_q};                              // query rows of the CTA
constexpr int row_warpgroups = ${warpgroups_q};                        // of a group
constexpr int groups = ${warpgroups_k};
constexpr int stages = ${stages};                                // tiles of a group in shared memory
constexpr int transposing_warps = ${v_transpose == 'consumers' ? 4 * warpgroups_q : 4};
constexpr int consumer_threads = ${128 * warpgroups};
constexpr int threads = ${threads};
constexpr int score_registers = tile_k / ${score_type == 'f32' ? 2 : 4};
constexpr int weight_registers = tile_k / 8;
constexpr int o_registers = ${v_rows / 2};
//% if warpgroups_k > 1 || schedule == 'ping_pong' || q_operand == 'smem' && score_type == 'f16'
constexpr int consumers_barrier = ${warpgroups_k + 1};                     // 1..groups: of a group; 0: of __syncthreads
//% end
//% if schedule == 'ping_pong'
constexpr int turn_barrier = consumers_barrier + 1;       // of the first warpgroup; the second's follows
//% end
constexpr float lowest_score = -1e30f;  // stands for minus infinity: differences of two stay finite
typedef ${score_type == 'f32' ? 'float' : 'f16x2'} Score;

// Codes that magic constants have left in the low bytes of f32 or f16 weights.
//% if score_type == 'f32'
__device__ __forceinline__ e4m3x4 low_bytes(float w0, float w1, float w2, float w3) {
  const u32 low = pick_bytes<0x0040>(__float_as_uint(w0), __float_as_uint(w1));
  const u32 high = pick_bytes<0x0040>(__float_as_uint(w2), __float_as_uint(w3));
  return pick_bytes<0x5410>(low, high);
}
//% else
__device__ __forceinline__ e4m3x4 low_bytes(f16x2 w01, f16x2 w23) { return pick_bytes<0x6420>(w01, w23); }
//% end

//% slot exponential

//% include "softmax.cuh"

//% include "transpose.cuh"

//% include "shared_memory.cuh"

//% include "tiles.cuh"

//% include "producer.cuh"

//% include "query.cuh"

//% include "output.cuh"

//% include "consumer.cuh"

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    fp8_sdpa(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
             const __grid_constant__ TensorMap v_map, const e4m3* __restrict__ q, const float* __restrict__ q_scale,
             const float* __restrict__ k_scale, const float* __restrict__ v_scale, half_bits* __restrict__ o, int S) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const int head = blockIdx.y;
  const int tiles = (S + tile_k - 1) / tile_k;

  if (threadIdx.x == consumer_threads) {
//% if q_operand != 'global'
    prefetch_tensor_map(q_map);
//% end
    prefetch_tensor_map(k_map);
    prefetch_tensor_map(v_map);
    init_barriers(smem);
  }
  write_ones(smem);
  publish_to_async_proxy();
  __syncthreads();
//% if v_transpose != 'prepass' && pdl != 'none'
  wait_for_launch_ahead();
//% end
//% if pdl == 'early'
  start_launch_behind();
//% end

  if (threadIdx.x >= consumer_threads) {
//% if register_split
    shrink_registers_to<${producer_registers}>();
//% end
//% if v_transpose == 'producer'
    produce(smem, q_map, k_map, v_map, head, tiles, threadIdx.x / 32 - ${4 * warpgroups}, threadIdx.x % 32);
//% else
    if (threadIdx.x == consumer_threads) produce(smem, q_map, k_map, v_map, head, tiles);
//% end
  } else {
//% if register_split
    grow_registers_to<${consumer_registers}>();
//% end
    constexpr float inverse_root = ${D == 64 ? '0.125f' : '0.08838834764831845f'};  // 1 / sqrt(head_dim)
    constexpr float log2_e = 1.4426950408889634f;
    constexpr float score_unit = inverse_root * log2_e * units_per_octave;
//% if score_type == 'f32'
    const float qk_scale = q_scale[head] * k_scale[head] * score_unit;
//% else
    // Queries are shrunk, and packed arithmetic takes the scale in f16: so does the search for the maximum.
    const float qk_scale = rounded_to_f16(q_scale[head] * k_scale[head] * (score_unit * query_shrink));
//% end
    consume(smem, q, qk_scale, v_scale[head], o, head, S, tiles);
  }
}
//% if v_transpose == 'prepass'

//%   include "prepass.cuh"
//% end
