// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of every eight keys
// two: the layout of a wgmma result.

__device__ __forceinline__ void shrink_rows(float (&acc_o)[o_registers], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < o_registers; ++i) acc_o[i] *= shrink[i / 2 % 2];
}

// Rows follow their tile's maximum: what they have accumulated is to shrink by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    shrink[r] = exp2_approximate((row_max[r] - new_max) * (1.0f / units_per_octave));
    row_max[r] = new_max;
  }
}

//% if promote_tiles != 1
//%   slot rescale

//% end
// Scores of keys at `keys` and beyond cannot win and get weight 0.
__device__ __forceinline__ void mask_scores(Score (&scores)[score_registers], int keys, int lane) {
  const int first = 2 * (lane % 4);
#pragma unroll
  for (int n = 0; n < tile_k / 8; ++n) {
//% if score_type == 'f32'
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (8 * n + first + e % 2 >= keys) scores[4 * n + e] = lowest_score;
    }
//% else
#pragma unroll
    for (int r = 0; r < 2; ++r) {  // 0xfc00: minus infinity
      if (8 * n + first >= keys) scores[2 * n + r] = (scores[2 * n + r] & 0xffff0000u) | 0x0000fc00u;
      if (8 * n + first + 1 >= keys) scores[2 * n + r] = (scores[2 * n + r] & 0x0000ffffu) | 0xfc000000u;
    }
//% end
  }
}

// In units of the weights' exponent. `scale` is positive.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const Score (&scores)[score_registers],
                                              float scale) {
//% if score_type == 'f32'
  float highest[2] = {fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3])};
#pragma unroll
  for (int n = 1; n < tile_k / 8; ++n) {
    highest[0] = fmaxf(highest[0], fmaxf(scores[4 * n], scores[4 * n + 1]));
    highest[1] = fmaxf(highest[1], fmaxf(scores[4 * n + 2], scores[4 * n + 3]));
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) tile_max[r] = rounded_max(quad_max(highest[r]) * scale);
//% else
  f16x2 highest[2] = {scores[0], scores[1]};
#pragma unroll
  for (int n = 1; n < tile_k / 8; ++n) {
    highest[0] = max_f16x2(highest[0], scores[2 * n]);
    highest[1] = max_f16x2(highest[1], scores[2 * n + 1]);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    tile_max[r] = rounded_max(quad_max(fmaxf(first_of(highest[r]), second_of(highest[r]))) * scale);
  }
//% end
}

// In place. The rows' sums are left to the columns of ones of the transposed values. The last argument of `weight`
// is the operand register that the weight will be part of.
__device__ __forceinline__ void weigh(Score (&scores)[score_registers], float scale, const float (&row_max)[2]) {
//% if score_type == 'f32'
  const float offset[2] = {weight_offset(row_max[0]), weight_offset(row_max[1])};
#pragma unroll
  for (int i = 0; i < score_registers; ++i) {
    scores[i] = weight(scores[i], scale, offset[i / 2 % 2], i / 8 * 2 + i / 2 % 2);
  }
//% else
  const f16x2 scale_pair = twice_f16(scale);
  const f16x2 offset[2] = {twice_f16(weight_offset(row_max[0])), twice_f16(weight_offset(row_max[1]))};
#pragma unroll
  for (int i = 0; i < score_registers; ++i) {
    scores[i] = weight(scores[i], scale_pair, offset[i % 2], i / 4 * 2 + i % 2);
  }
//% end
}

// The operand of the second product: of each 32 keys, four codes of `row` and `row + 8` of keys 2 quad + {0, 1, 8, 9},
// and of those + 16. The instruction takes them for depths 4 quad + 0..3; the transposed values lie in that order.
__device__ __forceinline__ void pack_weights(e4m3x4 (&weights)[weight_registers],
                                             const Score (&scores)[score_registers]) {
#pragma unroll
  for (int n = 0; n < tile_k / 16; ++n) {
//% if score_type == 'f32'
    const float* s = scores + 8 * n;
    weights[2 * n] = codes_of(s[0], s[1], s[4], s[5], 2 * n);
    weights[2 * n + 1] = codes_of(s[2], s[3], s[6], s[7], 2 * n + 1);
//% else
    const f16x2* s = scores + 4 * n;
    weights[2 * n] = codes_of(s[0], s[2], 2 * n);
    weights[2 * n + 1] = codes_of(s[1], s[3], 2 * n + 1);
//% end
  }
}
