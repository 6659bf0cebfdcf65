// Rows follow the maximum of every tile, whether it has grown or not.
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  follow_tile_max(row_max, shrink, tile_max);
}

__device__ __forceinline__ void rescale(float (&acc_o)[o_registers], const float (&shrink)[2]) {
  shrink_rows(acc_o, shrink);
}
