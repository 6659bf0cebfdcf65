// Scores become weights. A thread has two rows of its warp's sixteen, `row` and `row + 8`, and of the eight keys of
// tile n two: scores[n][0..1] are those of `row` and keys 8 n + 2 quad + 0..1, scores[n][2..3] those of `row + 8`.
// Scores are kept as the product leaves them. Maxima are in octaves: a weight is a power of two.
//% if key_dequant == 'raw'
// The zero point of the keys was never taken off: it moves all scores of a row alike, and weights are ratios.
//% end

typedef float Scores[n_tiles][4];
typedef f16x2 Weights[n_tiles / 2][4];
typedef float Accumulators[o_tiles][4];

__device__ __forceinline__ void shrink_rows(Accumulators& acc, const float (&shrink)[2]) {
#pragma unroll
  for (int n = 0; n < o_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[n][i] *= shrink[i / 2];
  }
}

// Rows follow their tile's maximum: what they have accumulated is to shrink by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    shrink[r] = exp2_approximate(row_max[r] - new_max);
    row_max[r] = new_max;
  }
}

//% if rescale == 'threshold'
// The maximum follows only where that of one of the warp's rows has grown by more than ${rescale_threshold} octaves:
// until then weights exceed 1, up to 2^${rescale_threshold}, which f16 holds.
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  constexpr float let_pass = ${rescale_threshold}.0f;
  const bool grown = tile_max[0] > row_max[0] + let_pass || tile_max[1] > row_max[1] + let_pass;
  shrink[0] = shrink[1] = 1.0f;
  if (__any_sync(0xffffffffu, grown)) follow_tile_max(row_max, shrink, tile_max);
}
//% else
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  follow_tile_max(row_max, shrink, tile_max);
}
//% end

//% if rescale == 'always'
// Every tile, whether a maximum has grown or not.
__device__ __forceinline__ void rescale(Accumulators& acc, const float (&shrink)[2]) { shrink_rows(acc, shrink); }
//% else
// Only where the maximum of one of the warp's rows has grown: soon that is rare.
__device__ __forceinline__ void rescale(Accumulators& acc, const float (&shrink)[2]) {
  if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) shrink_rows(acc, shrink);
}
//% end

// Keys at `keys` (of either row) and beyond cannot win and get weight 0: their score is minus infinity.
__device__ __forceinline__ void mask_scores(Scores& scores, const int (&keys)[2], int lane) {
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 8 * n + lane % 4 * 2 + i % 2;
      if (key >= keys[i / 2]) scores[n][i] = __int_as_float(0xff800000);
    }
  }
}

// Masks what rows from `first_row` on (`row` is this thread's first) must not see of a tile.
__device__ __forceinline__ void mask_tile(Scores& scores, int first_key, int first_row, int row, int M, int N,
                                          int lane) {
//% if mask == 'causal'
  const int ahead = N - M + 1;  // the keys that row 0 sees
  if (first_key + tile_k > min(N, first_row + ahead)) {
    const int keys[2] = {min(N, row + ahead) - first_key, min(N, row + 8 + ahead) - first_key};
    mask_scores(scores, keys, lane);
  }
//% else
  if (first_key + tile_k > N) {
    const int keys[2] = {N - first_key, N - first_key};
    mask_scores(scores, keys, lane);
  }
//% end
}

// In octaves. `scale` is positive.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[2], const Scores& scores, float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float highest = fmaxf(scores[0][2 * r], scores[0][2 * r + 1]);
#pragma unroll
    for (int n = 1; n < n_tiles; ++n) highest = fmaxf(highest, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
    tile_max[r] = quad_max(highest) * scale;
  }
}

//% if exponential == 'mixed'
// Whether the weights of a tile are computed on the FMA pipe: ${polynomial_percent} % are.
__device__ __forceinline__ constexpr bool by_polynomial(int n) {
  return (n + 1) * ${polynomial_percent} / 100 != n * ${polynomial_percent} / 100;
}

//% end
// In place.
__device__ __forceinline__ void weigh(Scores& scores, float scale, const float (&row_max)[2]) {
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float octaves = fmaf(scores[n][i], scale, -row_max[i / 2]);
//% if exponential == 'ex2'
      scores[n][i] = exp2_approximate(octaves);
//% else
      scores[n][i] = by_polynomial(n) ? exp2_polynomial(octaves) : exp2_approximate(octaves);
//% end
    }
  }
}
//% if row_sum == 'adds'

// Adds a tile's weights, as they are before they are rounded, to the thread's share of its rows' sums.
__device__ __forceinline__ void add_weights(float (&row_sum)[2], const Scores& weights) {
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int r = 0; r < 2; ++r) row_sum[r] += weights[n][2 * r] + weights[n][2 * r + 1];
  }
}
//% end

// The operands of the second product: of each 16 keys two weights of `row`, `row + 8`, and of the keys 8 further.
__device__ __forceinline__ void pack_weights(Weights& weights, const Scores& scores) {
#pragma unroll
  for (int n = 0; n < n_tiles; ++n) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      weights[n / 2][n % 2 * 2 + r] = f16x2_from_f32(scores[n][2 * r], scores[n][2 * r + 1]);
    }
  }
}
