// Accumulators are touched only when the maximum of one of the warp's rows has grown: rare after the first tiles.
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  follow_tile_max(row_max, shrink, tile_max);
}

__device__ __forceinline__ void rescale(float (&acc_o)[o_registers], const float (&shrink)[2]) {
  if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) shrink_rows(acc_o, shrink);
}
