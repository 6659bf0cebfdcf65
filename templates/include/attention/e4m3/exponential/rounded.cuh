#pragma once
// What exponentials share that round the row's maximum: of f16 scores, `highest` of `row` and of `row + 8`, two keys each.
template <typename Scale>
__device__ __forceinline__ void find_pair_max(float (&tile_max)[2], const f16x2 (&highest)[2], const Scale& scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    tile_max[r] = rounded_max(quad_max(fmaxf(first_of(highest[r]), second_of(highest[r]))) * scale[r]);
  }
}

__device__ __forceinline__ float f16_offset(float row_max, float) { return weight_offset(row_max); }

// What makes logarithms of the scores of a row, and of `row` and `row + 8`.
struct RowLogarithm {
  f16x2 scale;
  f16x2 offset;
};
struct RowLogarithms {
  RowLogarithm rows[2];

  template <typename Scale>
  __device__ __forceinline__ RowLogarithms(const Scale& scale, const float (&offset)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r].scale = twice_f16(scale[r]);
#pragma unroll
    for (int r = 0; r < 2; ++r) rows[r].offset = twice_f16(offset[r]);
  }
  __device__ __forceinline__ const RowLogarithm& operator[](int r) const { return rows[r]; }
};
