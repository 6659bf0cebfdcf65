// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of every eight keys
// two: the layout of a wgmma result.

// What scores are multiplied by at least, however small queries and keys are: masked scores then still fall out of sight,
// and the others are all but equal.
// In f16 2^-24 octaves, the smallest value, so that a scale in octaves is not 0 either (mixed takes both): a masked score,
// minus infinity, would become NaN. The largest score, 448^2 / 4, then makes 3/1000 of an octave.
constexpr float smallest_scale = weighs_f32 ? 1e-20f : 5.9604645e-8f * units_per_octave;

// What makes units of the weights' exponent of scores: of all rows, or of `row` and `row + 8`, if their queries are shrunk.
struct OneScale {
  float value;

  __device__ __forceinline__ float operator[](int) const { return value; }
  __device__ __forceinline__ void set(float scale) { value = fmaxf(scale, smallest_scale); }
  __device__ __forceinline__ void set(float, const int (&)[2]) {}
};
struct RowScales {
  float values[2];

  __device__ __forceinline__ float operator[](int r) const { return values[r]; }
  // The codes of the queries were divided by 2^shifts. Packed arithmetic takes the scale in f16: so does the search for the
  // maximum.
  __device__ __forceinline__ void set(float) {}
  __device__ __forceinline__ void set(float scale, const int (&shifts)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      values[r] = rounded_to_f16(fmaxf(scale * __int_as_float((127 + shifts[r]) << 23), smallest_scale));
    }
  }
};
typedef ${weigh_type == 'f32' ? 'OneScale' : 'RowScales'} Scale;

// The maximum of a row before its first tile. If it sees no key there its weights, which are all zero, have an offset that
// is still an f16 value.
constexpr float lowest_max = rows_may_be_empty ? -30000.0f : lowest_score;

// Where in its tile the first of the two keys is whose scores are number 2 n and 2 n + 1 of a row: key_of(n) + lane_key.
__device__ __forceinline__ int lane_key(int lane) { return lane % 4 * (v_path == ValuePath::given ? 4 : 2); }
__device__ __forceinline__ constexpr int key_of(int n) {
  return v_path == ValuePath::given ? n / 2 * 16 + n % 2 * 2 /* see load_tile */ : n * 8;
}

// What was accumulated below one maximum counts below a larger one.
__device__ __forceinline__ float shrink_by(float old_max, float new_max) {
  return exp2_approximate((old_max - new_max) * (1.0f / units_per_octave));
}

#include "include/attention/row_maximum.cuh"

// 3/4 of an octave: weights may exceed the 2^8 of the maximum by that much, which e4m3 holds (code 126).
constexpr float let_pass = 0.75f * units_per_octave;
//% slot rescale

// Keys that a row does not see: those from a key on, or those before it.
enum class Hidden { from, before };

// Scores of hidden keys cannot win and get weight 0. keys[r] is the key of `row` (r = 0) or `row + 8` in this tile.
template <Hidden hidden, int count>
__device__ __forceinline__ void mask_scores(float (&scores)[count], int lane, const int (&keys)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int limit = keys[r] - lane_key(lane);
#pragma unroll
    for (int n = 0; n < count / 4; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (key_of(n) + e >= limit == (hidden == Hidden::from)) scores[4 * n + 2 * r + e] = lowest_score;
      }
    }
  }
}

template <Hidden hidden>
__device__ __forceinline__ void mask_scores(F16Scores& scores, int lane, const int (&keys)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int limit = keys[r] - lane_key(lane);
    // Bits of f16 values below 2^-14 are in the order of the values: small integers can be compared as they are.
    const f16x2 limits = min(max(limit, 0), tile_k) * 0x10001u;
#pragma unroll
    for (int n = 0; n < tile_k / 8; ++n) {
      const u32 reached = at_least_f16x2(key_of(n) | (key_of(n) + 1) << 16, limits);
      const u32 masked = hidden == Hidden::from ? reached : ~reached;
      scores[2 * n + r] = select_bits(masked, 0xfc00fc00u, scores[2 * n + r]);  // minus infinity
    }
  }
}

// In place: two f16 scores in the place of the first of two.
template <typename Scores>
__device__ __forceinline__ void narrow(Scores& scores) {
#pragma unroll
  for (int i = 0; i < tile_k / 2; i += 2) {
    asm volatile("mov.b32 %0, %1;" : "=f"(scores[i]) : "r"(f16x2_from_f32(scores[i], scores[i + 1])));
  }
}

// Of two keys: number 2 n + r is that of row r and of the keys of number n of key_of. f32 scores: narrowed.
template <int count>
__device__ __forceinline__ f16x2 score_pair(const float (&scores)[count], int i) {
  return __float_as_uint(scores[2 * i]);
}
__device__ __forceinline__ f16x2 score_pair(const F16Scores& scores, int i) { return scores[i]; }
__device__ __forceinline__ void set_pair(F32Scores& scores, int i, f16x2 pair) { scores[2 * i] = __uint_as_float(pair); }
__device__ __forceinline__ void set_pair(F16Scores& scores, int i, f16x2 pair) { scores[i] = pair; }

// The largest scores of a thread's two rows, of all lanes that share them.
template <int count>
__device__ __forceinline__ void find_highest(float (&highest)[2], const float (&scores)[count]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) highest[r] = fmaxf(scores[2 * r], scores[2 * r + 1]);
#pragma unroll
  for (int n = 1; n < count / 4; ++n) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      highest[r] = fmaxf(highest[r], fmaxf(scores[4 * n + 2 * r], scores[4 * n + 2 * r + 1]));
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) highest[r] = quad_max(highest[r]);
}

// f16 scores of up to 16 octaves err by 1/256 of an octave at most, which changes a weight by 0.27 %. The errors of equal
// scores are equal, so that no sum makes them smaller. The 13 bits of f32 scores err as much, in four products of 32
// columns: where the logarithm of the sum is asked for, which is to be right to 1e-3, 4 octaves are large. A row that has
// not seen a key is not.
constexpr float largest_resolved = resolved_octaves * units_per_octave;
__device__ __forceinline__ bool is_large(float row_max) {
  return fabsf(row_max) > largest_resolved && row_max > lowest_max;
}

// Scores that are multiplied again: those of eight keys, and of all of a tile.
typedef float EightScores[4];
typedef float TileInMemory[tile_k / 2];

// The largest f16 scores of a thread's two rows, of either two keys.
template <typename Scores>
__device__ __forceinline__ void find_highest_pairs(f16x2 (&highest)[2], const Scores& scores) {
  highest[0] = score_pair(scores, 0);
  highest[1] = score_pair(scores, 1);
#pragma unroll
  for (int i = 2; i < tile_k / 4; ++i) highest[i % 2] = max_f16x2(highest[i % 2], score_pair(scores, i));
}

// The largest scores of a thread's two rows in a tile, in units of the weights' exponent. `scale` is positive.
template <typename Scores>
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const Scores& scores, const Scale& scale) {
  if constexpr (weighs_f32) {
    float highest[2];
    find_highest(highest, scores);
#pragma unroll
    for (int r = 0; r < 2; ++r) tile_max[r] = rounded_max(highest[r] * scale[r]);
  } else {
    f16x2 highest[2];
    find_highest_pairs(highest, scores);
    find_pair_max(tile_max, highest, scale);
  }
}

// The keys from `begin` to `end` (so in what follows) are weighed in place. The rows' sums are left to the columns of ones
// of the transposed values. The last argument of `weight` is the operand register that the weight will be part of.
template <int begin, int end, typename Scores>
__device__ __forceinline__ void weigh_f32(Scores& scores, const Scale& scale, const float (&offset)[2]) {
#pragma unroll
  for (int i = begin / 2; i < end / 2; ++i) {
    scores[i] = weight(scores[i], scale[i / 2 % 2], offset[i / 2 % 2], i / 8 * 2 + i / 2 % 2);
  }
}

// Two f16 weights in the place of the first of two f32 scores.
template <int begin, int end, typename Scores>
__device__ __forceinline__ void weigh_in_pairs(Scores& scores, const Scale& scale, const float (&offset)[2]) {
#pragma unroll
  for (int i = begin / 2; i < end / 2; i += 2) {
    const int r = i / 2 % 2;
    const auto logarithms =
        f16x2_from_f32(fmaf(scores[i], scale[r], offset[r]), fmaf(scores[i + 1], scale[r], offset[r]));
    // Moved here: the next scores come in this register.
    asm volatile("mov.b32 %0, %1;" : "=f"(scores[i]) : "r"(weight(logarithms, i / 8 * 2 + r)));
  }
}

template <int begin, int end, typename Scores>
__device__ __forceinline__ void weigh_f16(Scores& scores, const Scale& scale, const float (&offset)[2]) {
  const RowLogarithms rows(scale, offset);
#pragma unroll
  for (int i = begin / 4; i < end / 4; ++i) {
    set_pair(scores, i, weight(score_pair(scores, i), rows[i % 2], i / 4 * 2 + i % 2));
  }
}

// What a row's scores are moved by, of which its maximum is taken off: scaled ones, or (unrounded f16) as they are.
__device__ __forceinline__ float offset_below(float row_max, float scale) {
  if constexpr (weighs_f32) return weight_offset(row_max);
  if constexpr (!weighs_f32) return f16_offset(row_max, scale);
}

template <int begin = 0, int end = tile_k, typename Scores>
__device__ __forceinline__ void weigh(Scores& scores, const Scale& scale, const float (&offset)[2]) {
  if constexpr (!weighs_f32) {
    weigh_f16<begin, end>(scores, scale, offset);
  } else if constexpr (unrounded) {
    weigh_in_pairs<begin, end>(scores, scale, offset);
  } else {
    weigh_f32<begin, end>(scores, scale, offset);
  }
}

// The sum of `count` pairs of weights of a row, from those of number n of key_of on. Neighbours first: a large weight
// meets small ones when these have added up.
template <int count, typename Weights>
__device__ __forceinline__ f16x2 sum_of_pairs(const Weights& weights, int n, int r) {
  if constexpr (count == 1) {
    return score_pair(weights, 2 * n + r);
  } else {
    return add_f16x2(sum_of_pairs<count / 2>(weights, n, r), sum_of_pairs<count - count / 2>(weights, n + count / 2, r));
  }
}

// Adds the weights of the keys from `begin` to `end`, as they are before they are rounded, to the thread's share of its rows'
// sums (of products: to the whole sums), if it has one. Ahead of the first of a tile, what was summed shrinks.
template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void sum_weights(float (&row_sum)[2], const float (&shrink)[2], const TileScores& weights) {
  if constexpr (sums_by_products) {
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    constexpr int most = (end - begin) % 32 == 0 ? 2 : 1;
#pragma unroll
    for (int n = begin / 8; n < end / 8; n += 2 * most) {
      const f16x2 terms[4] = {sum_of_pairs<most>(weights, n, 0), sum_of_pairs<most>(weights, n, 1),
                              sum_of_pairs<most>(weights, n + most, 0), sum_of_pairs<most>(weights, n + most, 1)};
      mma_f16(sums, terms, 0x3c003c00u, 0x3c003c00u);  // ones
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) row_sum[r] = fmaf(row_sum[r], begin == 0 ? shrink[r] : 1.0f, sums[2 * r]);
  } else if constexpr (sum_by == RowSum::adds) {
    if constexpr (begin == 0) {
#pragma unroll
      for (int r = 0; r < 2; ++r) row_sum[r] *= shrink[r];
    }
    if constexpr (weights_are_f32) {
#pragma unroll
      for (int i = begin / 2; i < end / 2; ++i) row_sum[i / 2 % 2] += weights[i];
    } else {
      constexpr int all = (end - begin) / 8;
      constexpr int most = all == 0 ? 1 : all / ((all + 15) / 16);
#pragma unroll
      for (int n = begin / 8; n < end / 8; n += most) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const f16x2 pair = sum_of_pairs<most>(weights, n, r);
          row_sum[r] += first_of(pair) + second_of(pair);
        }
      }
    }
  }
}

// The f16 operand of the second product: of each 16 keys two weights of `row`, `row + 8`, and of the keys 8 further.
template <typename Scores>
__device__ __forceinline__ void pack_f16(u32& weights, const Scores& scores, int i) {
  if constexpr (weights_are_f32) {
    weights = f16x2_from_f32(scores[2 * i], scores[2 * i + 1]);
  } else {
    // The next scores come in their registers.
    asm volatile("mov.b32 %0, %1;" : "=r"(weights) : "r"(score_pair(scores, i)));
  }
}

// The e4m3 operand: of each 32 keys four codes of `row` and `row + 8`, and of the keys 16 further. The instruction takes
// them for depths 4 quad + 0..3, so the values lie in the order of the keys that a thread has.
template <typename Scores>
__device__ __forceinline__ e4m3x4 codes(const Scores& scores, int n, int r) {
  if constexpr (weights_are_f32) {
    const auto* s = scores + 8 * n + 2 * r;
    return codes_of(s[0], s[1], s[4], s[5], 2 * n + r);
  } else {
    return codes_of(score_pair(scores, 4 * n + r), score_pair(scores, 4 * n + 2 + r), 2 * n + r);
  }
}

template <int begin = 0, int end = tile_k>
__device__ __forceinline__ void pack_weights(u32 (&weights)[weight_registers], const TileScores& scores) {
  if constexpr (widened) {
#pragma unroll
    for (int i = begin / 4; i < end / 4; ++i) pack_f16(weights[i], scores, i);
  } else {
#pragma unroll
    for (int n = begin / 16; n < end / 16; ++n) {
#pragma unroll
      for (int r = 0; r < 2; ++r) weights[2 * n + r] = codes(scores, n, r);
    }
  }
}
