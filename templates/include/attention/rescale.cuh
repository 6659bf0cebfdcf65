#pragma once
// The maximum follows that of a tile. With a threshold only where that of one of the warp's rows has grown by more than
// let_pass: until then weights exceed the one of the maximum by that much, which their type holds.
__device__ __forceinline__ void raise_row_max(float (&row_max)[2], float (&shrink)[2], const float (&tile_max)[2]) {
  if constexpr (rescale_when == Rescale::threshold) {
    const bool grown = tile_max[0] > row_max[0] + let_pass || tile_max[1] > row_max[1] + let_pass;
    shrink[0] = shrink[1] = 1.0f;
    if (__any_sync(0xffffffffu, grown)) follow_tile_max(row_max, shrink, tile_max);
  } else {
    follow_tile_max(row_max, shrink, tile_max);
  }
}

// Every tile, whether a maximum has grown or not; or only where that of one of the warp's rows has grown: soon that is rare.
template <int length>
__device__ __forceinline__ void rescale(float (&acc)[length], const float (&shrink)[2]) {
  if constexpr (rescale_when == Rescale::always) {
    shrink_rows(acc, shrink);
  } else {
    if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) shrink_rows(acc, shrink);
  }
}
