// The scores of a warp's query rows and one key tile, after the product of q and k.

// Keys from `keys_left` on do not exist: their scores become so low that their weights vanish.
__device__ __forceinline__ void mask_scores(float (&scores)[m_tiles][key_tiles][4], int keys_left, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = 8 * n + 2 * (lane % 4) + i % 2;
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        if (key >= keys_left) scores[m][n][i] = lowest_score;
      }
    }
  }
}

// The largest score of each row in the tile, scaled.
__device__ __forceinline__ void find_tile_max(float (&tile_max)[m_tiles][2],
                                              const float (&scores)[m_tiles][key_tiles][4], float scale) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float largest = fmaxf(scores[m][0][2 * r], scores[m][0][2 * r + 1]);
#pragma unroll
      for (int n = 1; n < key_tiles; ++n)
        largest = fmaxf(largest, fmaxf(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      tile_max[m][r] = rounded_max(quad_max(largest) * scale);
    }
  }
}
