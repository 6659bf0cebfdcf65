#pragma once
// Through shared memory.
__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4],
                                             float scale, int first_row, int first_key, int warp_row,
                                             int warp_key, int M, int N, int lane, shared_address staging) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m_step * m + 8 * r + lane / 4;
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        const int key = warp_key + 8 * n + 2 * (lane % 4);
        store_shared(staging + row * staged_row_bytes + key * 4,
                     make_float2(scores[m][n][2 * r], scores[m][n][2 * r + 1]));
      }
    }
  }
  __syncthreads();
  store_staged(s, staging, scale, first_row, first_key, M, N);
}
