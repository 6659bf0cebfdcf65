// Only where the maximum of one of the warp's rows has grown by more than 2^${rescale_threshold}: until then
// weights may exceed the one of the maximum by that factor, which their type holds.
__device__ __forceinline__ bool follows(const float (&row_max)[2], const float (&tile_max)[2]) {
  constexpr float let_pass = ${rescale_threshold} * units_per_octave;
  return __any_sync(0xffffffffu, tile_max[0] > row_max[0] + let_pass || tile_max[1] > row_max[1] + let_pass);
}
