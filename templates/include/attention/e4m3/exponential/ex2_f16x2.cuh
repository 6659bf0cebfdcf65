#pragma once
// Two f16 on the multi-function unit at once: half the instructions. The maximum is rounded up to an eighth of an
// octave, so that the offset is an f16 value.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled * 8.0f) * 0.125f; }
__device__ __forceinline__ float weight_offset(float row_max) { return 8.0f - row_max; }

#include "rounded.cuh"

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int) {
  return exp2_approximate(fma_f16x2(scores, row.scale, row.offset));
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) {
  return join(e4m3x2_from_f16x2(w01), e4m3x2_from_f16x2(w23));
}
