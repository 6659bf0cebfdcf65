// fp8_attention/wgmma: attention of e4m3 queries over e4m3 keys and values as inference engines call it, in one pass over
// the keys. A CTA has ${tile_q} query rows${pack ? ', of all query heads that share a head of keys' : ' of one head'}: ${warpgroups_q} consumer warpgroup(s) side by side over the rows,
// ${warpgroups_k} group(s) of them over the keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the
// layouts.

// Rows may see no key at all, as those of a causal mask that have none before them.
//% include "include/attention/e4m3/prelude.cuh" with rows_may_be_empty = true
constexpr bool log_sum_exp = ${log_sum_exp};

// How a score becomes a weight, and rows their weights.
//% slot exponential
#include "include/attention/e4m3/softmax.cuh"

// What a CTA works on, and where it lies.
#include "include/attention/e4m3/shared_memory.cuh"
#include "fp8_attention/work.cuh"
#include "include/attention/pass_tiles.cuh"
#include "seen_tiles.cuh"

// Tiles: how they come, how values become an operand, how rows leave.
#include "tiles.cuh"
#include "include/attention/e4m3/values.cuh"
#include "include/attention/e4m3/loads.cuh"
#include "include/attention/e4m3/producer.cuh"
#include "include/attention/e4m3/query.cuh"
#include "include/attention/e4m3/unseen.cuh"
//% include "fp8_attention/rows.cuh" with columns = v_path == 'widened' ? 'ColumnsInOrder' : 'ColumnsInTurns'

// A consumer: one warpgroup, 64 query rows of each work, its group's share of the key tiles.
__device__ __forceinline__ void consume(const SharedMemory& smem, const Arguments& arguments) {
#include "include/attention/warpgroup_place.cuh"
  const Problem& problem = arguments;
  const Arguments& output = arguments;

  RingPlace<stages> place;
  u32 query_parity = 0;
  for_each_work(problem, [&](const Work& work) {
    // Load the query, and begin with the first tile that its rows see.
#include "include/attention/e4m3/begin_work.cuh"

    // What is done with each tile: scores, softmax, product. The schedule says in which order.
#include "include/attention/e4m3/scores.cuh"
#include "include/attention/e4m3/weights.cuh"
#include "include/attention/e4m3/accumulate.cuh"

    const int preparing_warp = row_part * 4 + warp + (v_path == ValuePath::all ? 4 : 0);
//% slot schedule

//% if q_operand != 'smem' && large_scores == 'again' && weigh_type == 'f16'
    // ptxas 13.0 gave weights the registers of queries that nothing but the first product reads. Codes of all ones are NaN.
    u32 all_codes = 0xffffffffu;
#pragma unroll
    for (int n = 0; n < head_dim / 8; ++n) all_codes &= query.codes[n];
    if (all_codes == 0xffffffffu) row_sum[0] = row_sum[1] = __uint_as_float(all_codes);
//% end

    // Store.
    end_output();
#include "include/attention/end_tiles.cuh"
#include "include/attention/e4m3/finish_sums.cuh"
#include "include/attention/finish_rows.cuh"
  });
}

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

#include "include/attention/e4m3/roles.cuh"
}

// Kernels ahead and behind.
//% include "include/attention/e4m3/prepass.cuh" with name = 'fp8_attention_transpose_v', sizes = ', int kv_heads', place = 'head % kv_heads, head / kv_heads, 0'
#include "fp8_attention/combine.cuh"
