#pragma once
// Conversions between f32, 16-bit and 8-bit floats (PTX ISA, cvt). The first element is always the low one.

//% if bf16_mma
__device__ __forceinline__ f16x2 f16x2_from_f32(float first, float second) {
  f16x2 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

__device__ __forceinline__ u32 bf16x2_from_f32(float first, float second) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
//% end

//% if fp8_convert
// Exact: every E4M3 value is an f16 value.
__device__ __forceinline__ f16x2 f16x2_from_e4m3x2(e4m3x2 codes) {
  f16x2 pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"(codes));
  return pair;
}

__device__ __forceinline__ f16x2 first_pair(e4m3x4 codes) { return f16x2_from_e4m3x2((e4m3x2)codes); }
__device__ __forceinline__ f16x2 second_pair(e4m3x4 codes) {
  return f16x2_from_e4m3x2((e4m3x2)(codes >> 16));
}
//% end

__device__ __forceinline__ e4m3x4 join(e4m3x2 first, e4m3x2 second) {
  e4m3x4 codes;
  asm("mov.b32 %0, {%1, %2};" : "=r"(codes) : "h"(first), "h"(second));
  return codes;
}

//% if fp8_convert
__device__ __forceinline__ e4m3x2 e4m3x2_from_f32(float first, float second) {
  e4m3x2 codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(second), "f"(first));
  return codes;
}

__device__ __forceinline__ e4m3x2 e4m3x2_from_f16x2(f16x2 pair) {
  e4m3x2 codes;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(codes) : "r"(pair));
  return codes;
}
//% end

__device__ __forceinline__ float first_of(f16x2 pair) {
  float value;
  asm("{ .reg .b16 first, second; mov.b32 {first, second}, %1; cvt.f32.f16 %0, first; }"
      : "=f"(value)
      : "r"(pair));
  return value;
}

__device__ __forceinline__ float second_of(f16x2 pair) {
  float value;
  asm("{ .reg .b16 first, second; mov.b32 {first, second}, %1; cvt.f32.f16 %0, second; }"
      : "=f"(value)
      : "r"(pair));
  return value;
}

// Picks four of the eight bytes of {low, high}; each hex digit of the selector names one, the lowest digit
// first.
template <u32 selector>
__device__ __forceinline__ u32 pick_bytes(u32 low, u32 high) {
  u32 bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "n"(selector));
  return bytes;
}
//% if !bf16_mma
#include "include/halves_by_bits.cuh"
//% end
//% if !fp8_convert
#include "include/e4m3_by_bits.cuh"
//% end
