#pragma once
// Conversions of E4M3 where the GPU has none. Needs types.cuh and convert.cuh.

// Sign, exponent and mantissa moved to their places in an f16, whose exponent's bias is larger by 8: values are 2^-8 as
// large, exactly. The largest magnitude is NaN: one step more and bit 14 is set, with which the exponent is that of NaN.
__device__ __forceinline__ f16x2 f16x2_from_high_bytes(u32 high_bytes) {
  const f16x2 halves = (high_bytes & 0x80008000u) | (high_bytes >> 1 & 0x3f803f80u);
  return halves | ((halves + 0x00800080u) & 0x40004000u);
}

// As in e4m3_halves.cuh.
constexpr float code_unit = 256.0f;
__device__ __forceinline__ f16x2 first_halves(e4m3x4 four) {
  return f16x2_from_high_bytes(pick_bytes<0x1404>(four, 0));
}
__device__ __forceinline__ f16x2 second_halves(e4m3x4 four) {
  return f16x2_from_high_bytes(pick_bytes<0x3424>(four, 0));
}
__device__ __forceinline__ f16x2 even_halves(e4m3x4 four) { return f16x2_from_high_bytes(four << 8 & 0xff00ff00u); }
__device__ __forceinline__ f16x2 odd_halves(e4m3x4 four) { return f16x2_from_high_bytes(four & 0xff00ff00u); }

__device__ __forceinline__ f16x2 times_code_unit(f16x2 pair) {
  f16x2 product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(pair), "r"(0x5c005c00u));
  return product;
}

// Exact: every E4M3 value is an f16 value.
__device__ __forceinline__ f16x2 first_pair(e4m3x4 codes) { return times_code_unit(first_halves(codes)); }
__device__ __forceinline__ f16x2 second_pair(e4m3x4 codes) { return times_code_unit(second_halves(codes)); }
__device__ __forceinline__ f16x2 f16x2_from_e4m3x2(e4m3x2 codes) { return first_pair(codes); }

// Rounds to nearest, ties to even; beyond 448 it is 448, and NaN stays NaN.
__device__ __forceinline__ u32 e4m3_from_f32(float value) {
  const float magnitude = fminf(fabsf(value), 448.0f);
  const u32 bits = __float_as_uint(magnitude);
  const u32 normal = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (127 - 7) * 8;
  // Below 2^-6 codes count steps of 2^-9, as do the low bits of an f32 from 2^14 on.
  const u32 subnormal = __float_as_uint(magnitude + 16384.0f) - __float_as_uint(16384.0f);
  const u32 code = magnitude < 0.015625f ? subnormal : normal;
  return value == value ? (__float_as_uint(value) >> 24 & 0x80) | code : 0x7f;
}

__device__ __forceinline__ e4m3x2 e4m3x2_from_f32(float first, float second) {
  return (e4m3x2)(e4m3_from_f32(first) | e4m3_from_f32(second) << 8);
}

__device__ __forceinline__ e4m3x2 e4m3x2_from_f16x2(f16x2 pair) {
  return e4m3x2_from_f32(first_of(pair), second_of(pair));
}
