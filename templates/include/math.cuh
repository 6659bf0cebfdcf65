#pragma once
// Fast f32 functions.

// 2^x on the multi-function unit; relative error 2^-22, results below 2^-126 are 0 (PTX ISA, ex2.approx.ftz).
__device__ __forceinline__ float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Two f16 powers of two at once; absolute and relative error about 2^-9.9 (PTX ISA, ex2.approx.f16x2).
__device__ __forceinline__ f16x2 exp2_approximate(f16x2 x) {
  f16x2 y;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

// 2^x for x in [-126, 127] on the FMA pipe: x = n + f with |f| <= 1/2, a cubic in f (minimax, relative error
// 7.5e-5), n added to the exponent bits. 1.5 * 2^23 leaves round(x) in the low bits of the sum.
__device__ __forceinline__ float exp2_polynomial(float x) {
  x = fmaxf(x, -126.0f);
  const float shifted = x + 12582912.0f;
  const float f = x - (shifted - 12582912.0f);
  float power = fmaf(f, 0.05517166f, 0.24261112f);
  power = fmaf(f, power, 0.69326099f);
  power = fmaf(f, power, 0.99992807f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(shifted) << 23));
}

__device__ __forceinline__ float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
