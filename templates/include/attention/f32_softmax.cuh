//% takes weight_dtype
// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of every eight keys two:
// scores[4 n + 0..1] are those of `row` and keys 8 n + 2 quad + 0..1, scores[4 n + 2..3] those of `row + 8`. So lie the
// results of mma.sync and of wgmma, and the output with columns in the place of keys. Scores are kept as the product
// leaves them; maxima are in octaves: a weight is a power of two.

// The maximum of a row that has seen no key yet: what it is followed by leaves nothing of it. Differences are finite.
constexpr float lowest_max = -1e20f;

// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) { return exp2_approximate(old_max - new_max); }

#include "include/attention/row_maximum.cuh"

#include "include/attention/rescale.cuh"

// In octaves. `scale` is positive.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const float (&scores)[score_registers],
                                              float scale) {
  float highest[2] = {fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3])};
#pragma unroll
  for (int i = 4; i < score_registers; i += 4) {
    highest[0] = fmaxf(highest[0], fmaxf(scores[i], scores[i + 1]));
    highest[1] = fmaxf(highest[1], fmaxf(scores[i + 2], scores[i + 3]));
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) tile_max[r] = quad_max(highest[r]) * scale;
}

// Whether a weight is computed on the FMA pipe: ${polynomial_percent} % are.
__device__ __forceinline__ constexpr bool by_polynomial(int i) {
  return (i / 4 + 1) * ${polynomial_percent} / 100 != i / 4 * ${polynomial_percent} / 100;
}

// In place, the scores from `begin` to `end`: so in what follows.
template <int begin = 0, int end = score_registers>
__device__ __forceinline__ void weigh(float (&scores)[score_registers], float scale, const float (&row_max)[2]) {
#pragma unroll
  for (int i = begin; i < end; ++i) {
    const float octaves = fmaf(scores[i], scale, -row_max[i / 2 % 2]);
    scores[i] = !weighs_by_ex2 && by_polynomial(i) ? exp2_polynomial(octaves) : exp2_approximate(octaves);
  }
}

// Adds a tile's weights, as they are before they are rounded, to the thread's share of its rows' sums.
template <int begin = 0, int end = score_registers>
__device__ __forceinline__ void add_weights(float (&row_sum)[2], const float (&weights)[score_registers]) {
#pragma unroll
  for (int i = begin; i < end; i += 2) row_sum[i / 2 % 2] += weights[i] + weights[i + 1];
}

// The operand of the second product: of each 16 keys two weights of `row`, `row + 8`, and of the keys 8 further.
template <int begin = 0, int end = score_registers>
__device__ __forceinline__ void pack_weights(u32 (&weights)[score_registers / 2],
                                             const float (&scores)[score_registers]) {
#pragma unroll
  for (int i = begin / 2; i < end / 2; ++i) {
    weights[i] = ${weight_dtype}x2_from_f32(scores[2 * i], scores[2 * i + 1]);
  }
}
