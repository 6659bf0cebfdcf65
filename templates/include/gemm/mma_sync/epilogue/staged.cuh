// Through shared memory, where the stages were: the CTA's tile is laid out there row by row (16 bytes more than a row
// spread the rows over the banks), then successive threads store successive chunks of 16 bytes of a row.
template <typename Result>
__device__ __forceinline__ void store_results(Result* results, const float (&acc)[m_tiles][n_tiles][4], int first_row,
                                              int first_column, const WarpPlace& warp, int M, int N,
                                              shared_address staging) {
  constexpr int result_bytes = sizeof(Result);
  constexpr int staged_row_bytes = tile_n * result_bytes + 16;
  __syncthreads();  // all warps are done with the stages
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const shared_address staged_row = staging + (warp.row + 16 * m + 8 * r + warp.lane / 4) * staged_row_bytes;
#pragma unroll
      for (int n = 0; n < n_tiles; ++n) {
        const int column = warp.column + 8 * n + 2 * (warp.lane % 4);
        const float first = acc[m][n][2 * r];
        const float second = acc[m][n][2 * r + 1];
        if constexpr (result_bytes == 2) {
          asm volatile("st.shared.b32 [%0], %1;" ::"r"(staged_row + column * 2), "r"(bf16x2_from_f32(first, second))
                       : "memory");
        } else {
          store_shared(staged_row + column * 4, make_float2(first, second));
        }
      }
    }
  }
  __syncthreads();
  constexpr int chunks = tile_n * result_bytes / 16;  // of a row
#pragma unroll
  for (int i = 0; i < (tile_m * chunks + threads - 1) / threads; ++i) {
    const int item = threadIdx.x + i * threads;
    const int row = item / chunks;
    const int column = item % chunks * (16 / result_bytes);
    if (tile_m * chunks % threads != 0 && row >= tile_m) break;
    if (first_row + row >= M || first_column + column >= N) continue;
    store_global(results + (long long)(first_row + row) * N + first_column + column,
                 load_shared(staging + row * staged_row_bytes + item % chunks * 16));
  }
}
