// The scores of a warp's query rows and one key tile, after the product of q and k.

// Neighbouring keys of a lane's values, if those are transposed.
constexpr int lane_keys = copy != Copy::direct ? 4 : tile_k < 64 ? tile_k / 4 : 16;

// The key of a tile's column. For transposed values, of each 16 columns a lane has four, those of four neighbouring
// keys, and of successive sixteens the neighbours of these, so that `lane_keys` codes of a row of V^T are a lane's.
__device__ __forceinline__ constexpr int key_at(int column) {
  if (!v_is_transposed) return column;
  const int sixteen = column / 16;
  const int quad = column / 2 % 4;
  const int span = lane_keys / 4;  // sixteens that share their lanes' neighbouring keys
  const int key = sixteen % span * 4 + column / 8 % 2 * 2 + column % 2;  // of the lane's
  return sixteen / span * 16 * span + quad * lane_keys + key;
}

// How key tiles lie in shared memory: as key_at has them. Of each 16 rows, pairs go to the first eight and to the other
// eight in turn.
struct DealtInPairs {
  static __device__ __forceinline__ int row(int position) {
    return position / 16 * 16 + position / 2 % 4 * 4 + position / 8 % 2 * 2 + position % 2;
  }
};
typedef ${v_layout == 'transposed' ? 'DealtInPairs' : 'InOrder'} KeyRows;

// Keys in a row of V^T.
__device__ __forceinline__ long long padded(int keys) { return (keys + 15) / 16 * 16; }

// Rows attend to the tile's first `keys_left` keys: those beyond do not exist. With a causal mask row i of the warp
// attends to i more, and so to none past the end if the row exists.
// The scores of others become so low that their weights vanish.
__device__ __forceinline__ void mask_scores(float (&scores)[m_tiles][key_tiles][4], int keys_left, int lane) {
#pragma unroll
  for (int n = 0; n < key_tiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = key_at(8 * n + 2 * (lane % 4) + i % 2);
#pragma unroll
      for (int m = 0; m < m_tiles; ++m) {
        const int row_keys = causal ? keys_left + 16 * m + lane / 4 + i / 2 * 8 : keys_left;
        if (key >= row_keys) scores[m][n][i] = lowest_score;
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
      // Behind a causal mask a row may have no key in the tile: its maximum stays so far above what was masked that the
      // weights vanish, and so far below every score that it does not count.
      if constexpr (causal) largest = fmaxf(largest, 1e-10f * lowest_score);
      tile_max[m][r] = rounded_max(quad_max(largest) * scale);
    }
  }
}
