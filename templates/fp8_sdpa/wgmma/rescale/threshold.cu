// The maximum follows only when that of one of the warp's rows has grown by more than 3/4 of an octave: until then
// weights may exceed the 2^8 of the maximum by that much, which e4m3 holds (code 126).
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  constexpr float let_pass = 0.75f * units_per_octave;
  const bool grown = tile_max[0] > row_max[0] + let_pass || tile_max[1] > row_max[1] + let_pass;
  shrink[0] = shrink[1] = 1.0f;
  if (__any_sync(0xffffffffu, grown)) follow_tile_max(row_max, shrink, tile_max);
}

__device__ __forceinline__ void rescale(float (&acc_o)[o_registers], const float (&shrink)[2]) {
  if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) shrink_rows(acc_o, shrink);
}
