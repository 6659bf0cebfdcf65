#pragma once
// f32 on the multi-function unit, one result each: 16 a clock and SM.
constexpr float units_per_octave = 1.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return scaled; }
__device__ __forceinline__ float weight_offset(float row_max) { return 8.0f - row_max; }

#include "rounded.cuh"

__device__ __forceinline__ float weight(float score, float scale, float offset, int) {
  return exp2_approximate(fmaf(score, scale, offset));
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3, int) {
  return join(e4m3x2_from_f32(w0, w1), e4m3x2_from_f32(w2, w3));
}
