// Straight from the accumulators: a lane has two neighbouring elements of a row in each tile of 8 columns.
template <typename Result>
__device__ __forceinline__ void store_results(Result* results, const float (&acc)[m_tiles][n_tiles][4], int first_row,
                                              int first_column, const WarpPlace& warp, int M, int N,
                                              shared_address) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + warp.row + 16 * m + 8 * r + warp.lane / 4;
      if (row >= M) continue;
      Result* result_row = results + (long long)row * N;
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        const int column = first_column + warp.column + 8 * n + 2 * (warp.lane % 4);
        if (column >= N) continue;
        const float first = acc[m][n][2 * r];
        const float second = acc[m][n][2 * r + 1];
        store_pair(result_row + column, first, second);
      }
    }
  }
}
