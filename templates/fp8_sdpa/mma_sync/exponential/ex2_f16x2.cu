// Two f16 on the multi-function unit at once: half the instructions, and the f16 results are operands as they
// are.

#include "octaves.cuh"

__device__ __forceinline__ f16x2 weights(float first, float second, float scale, float offset,
                                         float& row_sum) {
  const f16x2 p = exp2_approximate(f16x2_from_f32(fmaf(first, scale, offset), fmaf(second, scale, offset)));
  if constexpr (sum_by == RowSum::adds) row_sum += first_of(p) + second_of(p);
  return p;
}

__device__ __forceinline__ e4m3x4 weights(float s0, float s1, float s2, float s3, float scale, float offset,
                                          float& row_sum) {
  const f16x2 p01 = exp2_approximate(f16x2_from_f32(fmaf(s0, scale, offset), fmaf(s1, scale, offset)));
  const f16x2 p23 = exp2_approximate(f16x2_from_f32(fmaf(s2, scale, offset), fmaf(s3, scale, offset)));
  if constexpr (sum_by == RowSum::adds) row_sum += (first_of(p01) + second_of(p01)) + (first_of(p23) + second_of(p23));
  return join(e4m3x2_from_f16x2(p01), e4m3x2_from_f16x2(p23));
}
