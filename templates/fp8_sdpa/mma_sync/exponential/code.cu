// The e4m3 code itself: codes rise by 8 an octave, so the code of 2^y is 8 y + 56 with the mantissa's curve
// 2^f taken for the line 1 + f (6 % at most; the sum of a row sees the same weights, so that most of it
// cancels). One FMA leaves the code in the low byte of 2^23 + code. The maximum is rounded up to an eighth of
// an octave to keep the constant exact.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) {
  return 8388608.0f + ${56 + 8 * p_exponent}.0f - row_max;
}

__device__ __forceinline__ u32 shifted_code(float score, float scale, float offset) {
  return __float_as_uint(fmaxf(fmaf(score, scale, offset), 8388608.0f));
}

#include "codes.cuh"
