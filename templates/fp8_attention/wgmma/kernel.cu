// fp8_attention/wgmma: attention of e4m3 queries over e4m3 keys and values as inference engines call it, in one pass over
// the keys. A CTA has ${tile_q} query rows${pack ? ', of all query heads that share a head of keys' : ' of one head'}: ${warpgroups_q} consumer warpgroup(s) side by side over the rows,
// ${warpgroups_k} group(s) of them over the keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the
// layouts.

// Rows may see no key at all, as those of a causal mask that have none before them.
//% let mask = 'causal'
//% include "include/attention/e4m3/prelude.cuh"

//% slot exponential

//% include "include/attention/e4m3/softmax.cuh"

//% include "include/attention/e4m3/shared_memory.cuh"

//% include "work.cuh"

//% if passes_tiles
//%   let value_tile = 'operand'
//%   include "include/attention/pass_tiles.cuh"

//%   include "seen_tiles.cuh"

//% end
//% include "include/attention/e4m3/values.cuh"

//% include "tiles.cuh"

//% include "include/attention/e4m3/loads.cuh"

//% include "include/attention/e4m3/producer.cuh"

//% include "include/attention/e4m3/query.cuh"

//% include "rows.cuh"

//% let consumers_prepare = v_path == 'consumers' || v_path == 'all'
//% include "include/attention/e4m3/consumer.cuh"

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
  const Arguments arguments = {problem, q, q_scale, k_scale, v_scale, o, lse, partial_o, partial_statistics};

//% include "include/attention/e4m3/roles.cuh"
}
//% if v_path == 'prepass'

//%   let prepass_name = 'fp8_attention_transpose_v'
//%   let prepass_sizes = ', int kv_heads'
//%   let prepass_place = 'head % kv_heads, head / kv_heads, 0'
//%   include "include/attention/e4m3/prepass.cuh"
//% end
//% if split_over_grid

//%   include "combine.cuh"
//% end
