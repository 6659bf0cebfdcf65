#pragma once
// Neighbouring lanes exchange halves of two tiles of 8 keys, so that each stores four neighbouring scores:
// even lanes of a quad have those of the first tile, odd lanes those of the second.
__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4],
                                             float scale, int first_row, int first_key, int warp_row,
                                             int warp_key, int M, int N, int lane, shared_address) {
  const bool odd = lane % 2 != 0;
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + warp_row + m_step * m + 8 * r + lane / 4;
#pragma unroll
      for (int n = 0; n < n_tiles; n += 2) {
        float kept[2];
        float got[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float in_first = scores[m][n][2 * r + i] * scale;
          const float in_second = scores[m][n + 1][2 * r + i] * scale;
          kept[i] = odd ? in_second : in_first;
          got[i] = __shfl_xor_sync(0xffffffffu, odd ? in_first : in_second, 1);
        }
        const float4 four = odd ? make_float4(got[0], got[1], kept[0], kept[1])
                                : make_float4(kept[0], kept[1], got[0], got[1]);
        const int key = first_key + warp_key + 8 * (n + lane % 2) + 4 * (lane % 4 / 2);
        if (row < M) store_row_part(s + (long long)row * N, key, N, four);
      }
    }
  }
}
