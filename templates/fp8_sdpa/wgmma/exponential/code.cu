// The e4m3 code itself: of a weight 2^y it is 8 y + 56 but for the curve of the mantissa, a line up to 6 % too high
// (4 % on average). One FMA with a magic constant leaves it in the low bits. The row's largest weight gets a code
// between 118 and 119, where the line errs by as much as on average, so that the error cancels in the row's sum.
constexpr float units_per_octave = 8.0f;
constexpr float code_magic = scores_are_f32 ? 8388608.0f : 1024.0f;  // 2^23, 2^10: the code is in the low byte
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) { return code_magic + 119.0f - row_max; }

#include "include/attention/e4m3/exponential/rounded.cuh"

__device__ __forceinline__ float weight(float score, float scale, float offset, int) {
  return fmaxf(fmaf(score, scale, offset), code_magic);
}
__device__ __forceinline__ e4m3x4 codes_of(float w0, float w1, float w2, float w3, int) {
  return low_bytes(w0, w1, w2, w3);
}

__device__ __forceinline__ f16x2 weight(f16x2 scores, const RowLogarithm& row, int) {
  return max_f16x2(fma_f16x2(scores, row.scale, row.offset), 0x64006400u);
}
__device__ __forceinline__ e4m3x4 codes_of(f16x2 w01, f16x2 w23, int) { return low_bytes(w01, w23); }
