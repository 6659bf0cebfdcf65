#pragma once
// Conversions of two f32 to 16 bits where no instruction makes both. Needs types.cuh.

__device__ __forceinline__ f16x2 f16x2_from_f32(float first, float second) {
  f16x2 pair;
  asm("{ .reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2; mov.b32 %0, {low, high}; }"
      : "=r"(pair)
      : "f"(first), "f"(second));
  return pair;
}

// A bf16 is the upper half of an f32: rounds to nearest, ties to even; NaN stays NaN.
__device__ __forceinline__ u32 bf16_from_f32(float value) {
  const u32 bits = __float_as_uint(value);
  return value == value ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff;
}

__device__ __forceinline__ u32 bf16x2_from_f32(float first, float second) {
  return bf16_from_f32(first) | bf16_from_f32(second) << 16;
}
