// Every tile: the running maximum follows the tile's, and all that was accumulated shrinks by the difference.
__device__ __forceinline__ void raise_row_max(float (&row_max)[m_tiles][2],
                                              const float (&tile_max)[m_tiles][2],
                                              float (&row_sum)[m_tiles][2],
                                              float (&acc_o)[m_tiles][o_tiles][4]) {
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    follow_tile_max(row_max[m], tile_max[m], row_sum[m], acc_o[m]);
  }
}
