// The e4m3 code itself, as in `code`, with the mantissa's curve as a parabola: 2^f - 1 - f is about -0.337 f
// (1 - f). With g the distance of 8 y from the nearest multiple of 8, f (1 - f) = g / 8 - g^2 / 64 on either
// side of it, and codes count eighths.
constexpr float units_per_octave = 8.0f;
__device__ __forceinline__ float rounded_max(float scaled) { return ceilf(scaled); }
__device__ __forceinline__ float weight_offset(float row_max) { return ${56 + 8 * p_exponent}.0f - row_max; }

__device__ __forceinline__ u32 shifted_code(float score, float scale, float offset) {
  const float line = fmaxf(fmaf(score, scale, offset), 0.0f);
  const float nearest_octave =
      (line + 100663296.0f) - 100663296.0f;  // 1.5 * 2^26: f32 values there are 8 apart
  const float g = fabsf(line - nearest_octave);
  const float code = fmaf(g, fmaf(g, 0.0421487f, -0.3371894f), line);
  return __float_as_uint(code + 8388608.0f);
}

#include "codes.cuh"
