// Only where the maximum of one of the warp's rows has grown: soon that is rare.
__device__ __forceinline__ bool follows(const float (&row_max)[2], const float (&tile_max)[2]) {
  return __any_sync(0xffffffffu, tile_max[0] > row_max[0] || tile_max[1] > row_max[1]);
}
