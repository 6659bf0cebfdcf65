// The e4m3 code itself, as in `code`, with the mantissa's curve as a parabola.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) { return 120.0f - row_max; }

#include "include/attention/e4m3/exponential/rounded.cuh"
#include "parabola.cuh"

__device__ __forceinline__ float weight(float score, float scale, float offset, int) {
  return code_by_parabola(fmaf(score, scale, offset));
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3, int) {
  return low_bytes(w0, w1, w2, w3);
}

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int) {
  return code_by_parabola(fma_f16x2(scores, row.scale, row.offset));
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) { return low_bytes(w01, w23); }
