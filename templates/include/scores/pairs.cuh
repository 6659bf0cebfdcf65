#pragma once
// Straight from the accumulators: a lane has two neighbouring scores of a row in each tile of 8 keys.
__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4],
                                             float scale, int first_row, int first_key, int warp_row,
                                             int warp_key, int M, int N, int lane, shared_address) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + warp_row + m_step * m + 8 * r + lane / 4;
      if (row >= M) continue;
      Score* s_row = s + (long long)row * N;
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        const int key = first_key + warp_key + 8 * n + 2 * (lane % 4);
        const float first = scores[m][n][2 * r] * scale;
        const float second = scores[m][n][2 * r + 1] * scale;
        if (N % 2 == 0) {
          if (key < N) store_2_scores(s_row + key, first, second);
        } else {
          if (key < N) store_score(s_row + key, first);
          if (key + 1 < N) store_score(s_row + key + 1, second);
        }
      }
    }
  }
}
