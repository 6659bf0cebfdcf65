// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of every eight keys
// two: the layout of a wgmma result.

// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of sight,
// and the others are all but equal.
//% if weigh_type == 'f32'
constexpr float smallest_scale = 1e-20f;
//% else
// 2^-24 octaves, the smallest f16 value, so that a scale in octaves is not 0 either (mixed takes both): a masked score, minus
// infinity, would become NaN. The largest score, 448^2 / 4, then makes 3/1000 of an octave.
constexpr float smallest_scale = 5.9604645e-8f * units_per_octave;
//% end

//% if mask == 'causal'
// The maximum of a row that has seen no key yet. Its weights, which are all zero, have an offset that is still an f16 value.
//%   if exponential == 'unrounded' && weigh_type == 'f16'
constexpr float lowest_max = -1000.0f;  // in steps, 64 an octave, too
//%   else
constexpr float lowest_max = -30000.0f;
//%   end
//% else
// The maximum of a row before its first tile, in which it sees a key.
constexpr float lowest_max = lowest_score;
//% end

// Where in its tile the first of the two keys is whose scores are number 2 n and 2 n + 1 of a row: key_of(n) + lane_key.
__device__ __forceinline__ int lane_key(int lane) { return lane % 4 * ${v_path == 'given' ? 4 : 2}; }
__device__ __forceinline__ constexpr int key_of(int n) {
//% if v_path == 'given'
  return n / 2 * 16 + n % 2 * 2;  // see load_keys
//% else
  return n * 8;
//% end
}

// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) {
  return exp2_approximate((old_max - new_max) * (1.0f / units_per_octave));
}

//% include "include/attention/row_maximum.cuh"

//% if promote_tiles != 1
//%   slot rescale

//% end
// Keys that a row does not see: those from a key on, or those before it.
enum class Hidden { from, before };

// Scores of hidden keys cannot win and get weight 0. keys[r] is the key of `row` (r = 0) or `row + 8` in this tile.
template <Hidden hidden>
__device__ __forceinline__ void mask_scores(Score (&scores)[score_registers], int lane, const int (&keys)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int limit = keys[r] - lane_key(lane);
//% if score_type == 'f32'
#pragma unroll
    for (int n = 0; n < tile_k / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (key_of(n) + e >= limit == (hidden == Hidden::from)) scores[4 * n + 2 * r + e] = lowest_score;
      }
    }
//% else
    // Bits of f16 values below 2^-14 are in the order of the values: small integers can be compared as they are.
    const f16x2 limits = min(max(limit, 0), tile_k) * 0x10001u;
#pragma unroll
    for (int n = 0; n < tile_k / 8; ++n) {
      const u32 reached = at_least_f16x2(key_of(n) | (key_of(n) + 1) << 16, limits);
      const u32 masked = hidden == Hidden::from ? reached : ~reached;
      scores[2 * n + r] = select_bits(masked, 0xfc00fc00u, scores[2 * n + r]);  // minus infinity
    }
//% end
  }
}

//% if weigh_type != score_type
// In place: two f16 scores in the place of the first of two.
__device__ __forceinline__ void narrow(Score (&scores)[score_registers]) {
#pragma unroll
  for (int i = 0; i < score_registers; i += 2) {
    asm volatile("mov.b32 %0, %1;" : "=f"(scores[i]) : "r"(f16x2_from_f32(scores[i], scores[i + 1])));
  }
}

//% end
//% if weigh_type == 'f16'
//%   let narrowed = weigh_type != score_type
// Of two keys: number 2 n + r is that of row r and of the keys of number n of key_of.
constexpr int score_pairs = tile_k / 4;
__device__ __forceinline__ f16x2 score_pair(const Score (&scores)[score_registers], int i) {
  return ${narrowed ? '__float_as_uint(scores[2 * i])' : 'scores[i]'};
}

//% end
//% let scale_type = weigh_type == 'f16' ? 'const float (&scale)[2]' : 'float scale'
// In units of the weights' exponent. `scale` is positive.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const Score (&scores)[score_registers],
                                              ${scale_type}) {
//% if weigh_type == 'f32'
  float highest[2] = {fmaxf(scores[0], scores[1]), fmaxf(scores[2], scores[3])};
#pragma unroll
  for (int n = 1; n < tile_k / 8; ++n) {
    highest[0] = fmaxf(highest[0], fmaxf(scores[4 * n], scores[4 * n + 1]));
    highest[1] = fmaxf(highest[1], fmaxf(scores[4 * n + 2], scores[4 * n + 3]));
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) tile_max[r] = rounded_max(quad_max(highest[r]) * scale);
//% else
  f16x2 highest[2] = {score_pair(scores, 0), score_pair(scores, 1)};
#pragma unroll
  for (int i = 2; i < score_pairs; ++i) highest[i % 2] = max_f16x2(highest[i % 2], score_pair(scores, i));
//%   if exponential == 'unrounded'
  // Both rows at once: `row` in the low half, `row + 8` in the high one.
  f16x2 rows = max_f16x2(pick_bytes<0x5410>(highest[0], highest[1]), pick_bytes<0x7632>(highest[0], highest[1]));
#pragma unroll
  for (int lanes = 1; lanes < 4; lanes *= 2) rows = max_f16x2(rows, __shfl_xor_sync(0xffffffffu, rows, lanes));
  const f16x2 offsets = fma_f16x2(rows, f16x2_from_f32(-scale[0], -scale[1]), twice_f16(top));
  tile_max[0] = top - first_of(offsets);
  tile_max[1] = top - second_of(offsets);
//%   else
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    tile_max[r] = rounded_max(quad_max(fmaxf(first_of(highest[r]), second_of(highest[r]))) * scale[r]);
  }
//%   end
//% end
}

//% let f32_pairs = exponential == 'unrounded' && score_type == 'f32'
// The keys from `begin` to `end` (so in what follows), in place${f32_pairs ? ', two f16 weights in the place of the first of two scores' : ''}. The rows' sums are left to the columns of ones of the transposed values. The last argument of `weight`
// is the operand register that the weight will be part of.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void weigh(Score (&scores)[score_registers], ${scale_type}, const float (&row_max)[2]) {
//% if weigh_type == 'f32'
  const float offset[2] = {weight_offset(row_max[0]), weight_offset(row_max[1])};
//%   if f32_pairs
#pragma unroll
  for (int i = begin / 2; i < end / 2; i += 2) {
    const int r = i / 2 % 2;
    const f16x2 logarithms =
        f16x2_from_f32(fmaf(scores[i], scale, offset[r]), fmaf(scores[i + 1], scale, offset[r]));
    // Moved here: the next scores come in this register.
    asm volatile("mov.b32 %0, %1;" : "=f"(scores[i]) : "r"(weight(logarithms, i / 8 * 2 + r)));
  }
//%   else
#pragma unroll
  for (int i = begin / 2; i < end / 2; ++i) {
    scores[i] = weight(scores[i], scale, offset[i / 2 % 2], i / 8 * 2 + i / 2 % 2);
  }
//%   end
//% else
//%   if exponential == 'unrounded'
  const RowLogarithm rows[2] = {{scale[0], row_max[0]}, {scale[1], row_max[1]}};
#pragma unroll
  for (int i = begin / 4; i < end / 4; ++i) {
    const f16x2 pair = weight(score_pair(scores, i), rows[i % 2], i / 4 * 2 + i % 2);
//%     if score_type == 'f32'
    scores[2 * i] = __uint_as_float(pair);
//%     else
    scores[i] = pair;
//%     end
  }
//%   else
  const f16x2 scale_pair[2] = {twice_f16(scale[0]), twice_f16(scale[1])};
  const f16x2 offset[2] = {twice_f16(weight_offset(row_max[0])), twice_f16(weight_offset(row_max[1]))};
#pragma unroll
  for (int i = begin / 4; i < end / 4; ++i) {
    scores[i] = weight(scores[i], scale_pair[i % 2], offset[i % 2], i / 4 * 2 + i % 2);
  }
//%   end
//% end
}

//% if row_sum == 'adds'
// Adds a tile's weights, as they are before they are rounded, to the thread's share of its rows' sums.
__device__ __forceinline__ void add_weights(float (&row_sum)[2], const Score (&weights)[score_registers]) {
//%   if score_type == 'f32'
#pragma unroll
  for (int i = 0; i < score_registers; ++i) row_sum[i / 2 % 2] += weights[i];
//%   else
#pragma unroll
  for (int i = 0; i < score_registers; i += 4) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const f16x2 pair = add_f16x2(weights[i + r], weights[i + 2 + r]);
      row_sum[r] += first_of(pair) + second_of(pair);
    }
  }
//%   end
}

//% end
//% if v_path == 'widened'
// The operand of the second product: of each 16 keys two weights of `row`, `row + 8`, and of the keys 8 further.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void pack_weights(u32 (&weights)[weight_registers], const Score (&scores)[score_registers]) {
#pragma unroll
  for (int i = begin / 4; i < end / 4; ++i) {
//%   if score_type == 'f32'
    weights[i] = f16x2_from_f32(scores[2 * i], scores[2 * i + 1]);
//%   else
    asm volatile("mov.b32 %0, %1;" : "=r"(weights[i]) : "r"(scores[i]));  // the next scores come in their registers
//%   end
  }
}
//% else
// The operand of the second product: of each 32 keys four codes of `row` and `row + 8`, and of the keys 16 further. The
// instruction takes them for depths 4 quad + 0..3, so the values lie in the order of the keys that a thread has.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void pack_weights(e4m3x4 (&weights)[weight_registers],
                                             const Score (&scores)[score_registers]) {
#pragma unroll
  for (int n = begin / 16; n < end / 16; ++n) {
//% if f32_pairs
    const float* s = scores + 8 * n;
    weights[2 * n] = codes_of(__float_as_uint(s[0]), __float_as_uint(s[4]), 2 * n);
    weights[2 * n + 1] = codes_of(__float_as_uint(s[2]), __float_as_uint(s[6]), 2 * n + 1);
//% elif score_type == 'f32'
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
//% end
