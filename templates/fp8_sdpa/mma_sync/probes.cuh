#pragma once
//% probe
// What a diagnosis looks at (docs/diagnose.md): scores and weights of a warp's rows and one tile, sums and rows.
constexpr float score_unit = 1.0f / (1.4426950408889634f * units_per_octave);  // of row_max, in natural logarithms
constexpr bool weights_are_codes = ${exponential in ('code', 'code_quadratic')};
constexpr float weight_of_one = ${pv_math == 'e4m3' ? p_exponent : 0} * 0.6931471805599453f;
__device__ float* probed_scores;
__device__ float* probed_weights;
__device__ float* probed_sums;
__device__ float* probed_rows;

// Calls `body` for each of the warp's scores that counts, the i-th of tile n of the m-th 16 rows, with its row and key.
template <typename Body>
__device__ __forceinline__ void for_each_score(int warp_first_row, int first_key, int S, int lane, const Body& body) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = warp_first_row + 16 * m + i / 2 * 8 + lane / 4;
        const int key = first_key + key_at(8 * n + 2 * (lane % 4) + i % 2);
        if (row < S && key < (causal ? row + 1 : S)) body(m, n, i, row, key);
      }
    }
  }
}

// Of the scores that all but vanish only the scores are known. Weights as e4m3 codes are not looked at.
template <typename Scores>
__device__ __forceinline__ void probe_weights_of(const Scores& scores, const float (&row_max)[m_tiles][2], float scale,
                                              int warp_first_row, int first_key, int S, int lane) {
  if constexpr (f16_weights) {
    for_each_score(warp_first_row, first_key, S, lane, [&](int m, int n, int i, int row, int key) {
      float ignored = 0.0f;
      const auto* pair = scores[m][n] + i / 2 * 2;
      const f16x2 p = weights(pair[0], pair[1], scale, weight_offset(row_max[m][i / 2]), ignored);
      const float weight = i % 2 == 0 ? first_of(p) : second_of(p);
      probed_weights[((long long)blockIdx.y * S + row) * S + key] =
          weight > 0.004f ? logf(weight) + row_max[m][i / 2] * score_unit : scores[m][n][i] * scale * score_unit;
    });
  }
}
//% end
