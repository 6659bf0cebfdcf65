// Only where the maximum of one of the warp's rows has grown by more than 2^${rescale_threshold}: until then
// weights may exceed the one of the maximum by that factor, which their type holds.
__device__ __forceinline__ void raise_row_max(float (&row_max)[m_tiles][2],
                                              const float (&tile_max)[m_tiles][2],
                                              float (&row_sum)[m_tiles][2],
                                              float (&acc_o)[m_tiles][o_tiles][4]) {
  constexpr float let_pass = ${rescale_threshold} * units_per_octave;
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
    const bool grown = tile_max[m][0] > row_max[m][0] + let_pass || tile_max[m][1] > row_max[m][1] + let_pass;
    if (__any_sync(0xffffffffu, grown)) follow_tile_max(row_max[m], tile_max[m], row_sum[m], acc_o[m]);
  }
}
