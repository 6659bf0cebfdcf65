// fp8_sdpa/wgmma: o = softmax(q k^T / sqrt(D)) v with scaled e4m3 q, k, v, in one pass over the keys. A CTA has
// ${tile_q} query rows of one head: ${warpgroups_q} consumer warpgroup(s) side by side over the rows, ${warpgroups_k} group(s) of them over the
// keys, and a producer that brings tiles. docs/kernels/wgmma.md tells the algorithm and the layouts.

//% include "include/attention/e4m3/prelude.cuh"

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

//% include "include/attention/e4m3/softmax.cuh"

//% include "include/attention/e4m3/shared_memory.cuh"

//% let works_in_pairs = false
//% include "include/attention/work.cuh"

//% let window = 0
//% include "problem.cuh"

//% if passes_tiles
//%   let value_tile = 'operand'
//%   include "include/attention/pass_tiles.cuh"

//%   include "include/attention/seen_tiles.cuh"

__device__ __forceinline__ TileRange seen_tiles(const Work& work, int first_row, const Problem& problem) {
  return seen_tiles(work, first_row, problem.S);
}
//% end

//% include "include/attention/e4m3/values.cuh"

//% include "tiles.cuh"

//% include "include/attention/e4m3/loads.cuh"

//% include "include/attention/e4m3/producer.cuh"

//% include "include/attention/e4m3/query.cuh"

//% include "output.cuh"

//% probe
__device__ float* probed_scores;
// Addresses of the probes ahead of the arguments.
#define fp8_sdpa(...) fp8_sdpa(float* probe_scores, float*, float*, float*, __VA_ARGS__)

//% end
//% let consumers_prepare = v_path == 'consumers' || v_path == 'all'
//% let o_map = 'arguments.o_map'
//% include "include/attention/e4m3/consumer.cuh"

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

//% include "include/attention/e4m3/roles.cuh"
}
//% if v_path == 'prepass'

//%   let prepass_name = 'fp8_sdpa_transpose_v'
//%   let prepass_sizes = ''
//%   let prepass_place = 'head'
//%   include "include/attention/e4m3/prepass.cuh"
//% end
//% if split_over_grid

//%   include "combine.cuh"
//% end
//% if v_path == 'given'

//%   include "align_keys.cuh"
//% end
