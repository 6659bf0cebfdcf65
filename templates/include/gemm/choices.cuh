//% takes b_layout = 'nk', split_k = 1, out = 'bf16'
#pragma once
// What options and genes of a product choose.
enum class Layout { nk, kn };
constexpr Layout b_layout = Layout::${b_layout};  // of b: [N, K] or [K, N]
constexpr int split_k = ${split_k};  // CTAs that share the depth of a tile: each makes a part of the sums
constexpr bool waits_for_launches = ${dependent_launch && pdl};
typedef ${out == 'bf16' ? 'half_bits' : 'float'} Output;  // an element of c

// Where launches overlap: waits for the one ahead, and lets the one behind start.
__device__ __forceinline__ void overlap_launches() {
  if constexpr (waits_for_launches) {
    wait_for_launch_ahead();
    start_launch_behind();
  }
}
