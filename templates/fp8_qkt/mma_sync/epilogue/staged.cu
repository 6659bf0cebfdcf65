// Through shared memory: the CTA's tile is laid out there row by row (16 bytes more than a row spread the
// rows over the banks), then successive threads store successive parts of a row.
constexpr int staged_row_bytes = tile_n * 4 + 16;

__device__ __forceinline__ void store_scores(Score* s, const float (&scores)[m_tiles][n_tiles][4],
                                             float scale, int first_row, int first_key, int warp_row,
                                             int warp_key, int M, int N, int lane, shared_address staging) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + 16 * m + 8 * r + lane / 4;
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        const int key = warp_key + 8 * n + 2 * (lane % 4);
        store_shared(staging + row * staged_row_bytes + key * 4,
                     make_float2(scores[m][n][2 * r] * scale, scores[m][n][2 * r + 1] * scale));
      }
    }
  }
  __syncthreads();
  constexpr int parts = tile_n / 4;
#pragma unroll
  for (int i = 0; i < (tile_m * parts + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / parts;
    const int part = item % parts;
    if (tile_m * parts % threads != 0 && row >= tile_m) break;
    if (first_row + row >= M) break;
    store_row_part(s + (long long)(first_row + row) * N, first_key + 4 * part, N,
                   load_shared_f32x4(staging + row * staged_row_bytes + part * 16));
  }
}
