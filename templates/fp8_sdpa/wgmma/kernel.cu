// fp8_sdpa/wgmma: o = softmax(q k^T / sqrt(D)) v with scaled e4m3 q, k, v, in one pass over the keys. A CTA has
// ${tile_q} query rows of one head: ${warpgroups_q} consumer warpgroup(s) side by side over the rows, ${warpgroups_k} group(s) of them over the
// keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the layouts.

//% include "include/attention/e4m3/prelude.cuh" with causal = mask == 'causal', rows_may_be_empty = mask == 'causal'
constexpr bool scale_of_each_head = ${scales == 'head'};

// How a score becomes a weight, and rows their weights.
#include "low_bytes.cuh"
//% slot exponential
#include "include/attention/e4m3/softmax.cuh"

// What a CTA works on, and where it lies.
#include "include/attention/e4m3/shared_memory.cuh"
#include "include/attention/work.cuh"
#include "include/attention/pass_tiles.cuh"
#include "include/attention/seen_tiles.cuh"
#include "problem.cuh"

// Tiles: how they come, how values become an operand, how rows leave.
#include "tiles.cuh"
#include "include/attention/e4m3/values.cuh"
#include "include/attention/e4m3/loads.cuh"
#include "include/attention/e4m3/producer.cuh"
#include "include/attention/e4m3/query.cuh"
#include "include/attention/e4m3/unseen.cuh"
#include "output.cuh"

//% probe
__device__ float* probed_scores;
// Addresses of the probes ahead of the arguments.
#define fp8_sdpa(...) fp8_sdpa(float* probe_scores, float*, float*, float*, __VA_ARGS__)

//% end
// A consumer: one warpgroup, 64 query rows of each work, its group's share of the key tiles.
__device__ __forceinline__ void consume(const SharedMemory& smem, const Arguments& arguments) {
#include "include/attention/warpgroup_place.cuh"
  const Problem& problem = arguments;
  const TensorMap& o_map = arguments.o_map;
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
  if constexpr (epilogue == Epilogue::tma) {
    if (threadIdx.x % 128 == 0) wait_for_stores();
  }
}

extern "C" __global__ void __launch_bounds__(threads, ${min_blocks})
    fp8_sdpa(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
             const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap o_map,
             const e4m3* __restrict__ q, const float* __restrict__ q_scale, const float* __restrict__ k_scale,
             const float* __restrict__ v_scale, half_bits* __restrict__ o, float* __restrict__ partial_o,
             float2* __restrict__ partial_statistics, int S, int heads) {
  extern __shared__ unsigned char smem_storage[];
  const SharedMemory smem = {(shared_address_of(smem_storage) + 1023) & ~1023u};  // swizzle atoms are 1024 bytes
  const Problem problem = {S, heads};
  const Arguments arguments = {problem, o_map, q, q_scale, k_scale, v_scale, o, partial_o, partial_statistics};
//% probe
  probed_scores = probe_scores;
//% end

#include "include/attention/e4m3/roles.cuh"
}

// Kernels ahead and behind.
//% include "include/attention/e4m3/prepass.cuh" with name = 'fp8_sdpa_transpose_v', place = 'head'
#include "combine.cuh"
#include "align_keys.cuh"
