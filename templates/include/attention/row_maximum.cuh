#pragma once
template <int length>
__device__ __forceinline__ void shrink_rows(float (&acc)[length], const float (&shrink)[2]) {
#pragma unroll
  for (int i = 0; i < length; ++i) acc[i] *= shrink[i / 2 % 2];
}

// Rows follow their tile's maximum: what they have accumulated is to shrink by the difference.
__device__ __forceinline__ void follow_tile_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float new_max = fmaxf(row_max[r], tile_max[r]);
    shrink[r] = shrink_by(row_max[r], new_max);
    row_max[r] = new_max;
  }
}
