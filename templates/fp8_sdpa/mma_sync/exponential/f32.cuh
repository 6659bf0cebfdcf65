// Weights in f32: every second one by `exp2_even`, the others by `exp2_odd`.

#include "octaves.cuh"

__device__ __forceinline__ f16x2 weights(float first, float second, float scale, float offset,
                                         float& row_sum) {
  const float p0 = exp2_even(fmaf(first, scale, offset));
  const float p1 = exp2_odd(fmaf(second, scale, offset));
  if constexpr (sum_by == RowSum::adds) row_sum += p0 + p1;
  return f16x2_from_f32(p0, p1);
}

__device__ __forceinline__ e4m3x4 weights(float s0, float s1, float s2, float s3, float scale, float offset,
                                          float& row_sum) {
  const float p0 = exp2_even(fmaf(s0, scale, offset));
  const float p1 = exp2_odd(fmaf(s1, scale, offset));
  const float p2 = exp2_even(fmaf(s2, scale, offset));
  const float p3 = exp2_odd(fmaf(s3, scale, offset));
  if constexpr (sum_by == RowSum::adds) row_sum += (p0 + p1) + (p2 + p3);
  return join(e4m3x2_from_f32(p0, p1), e4m3x2_from_f32(p2, p3));
}
