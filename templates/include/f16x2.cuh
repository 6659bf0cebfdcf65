#pragma once
// Arithmetic on two f16 at once.

__device__ __forceinline__ f16x2 fma_f16x2(f16x2 a, f16x2 b, f16x2 c) {
  f16x2 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

__device__ __forceinline__ f16x2 add_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 subtract_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 multiply_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 max_f16x2(f16x2 a, f16x2 b) {
  f16x2 d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// All bits of each half are 1 where a >= b, else 0.
__device__ __forceinline__ u32 at_least_f16x2(f16x2 a, f16x2 b) {
  u32 d;
  asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

// Bits of a where those of `mask` are 1, else of b. One instruction from the start: it compiles faster.
__device__ __forceinline__ u32 select_bits(u32 mask, u32 a, u32 b) {
  u32 d;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(d) : "r"(mask), "r"(a), "r"(b));
  return d;
}

__device__ __forceinline__ f16x2 twice_f16(float x) { return f16x2_from_f32(x, x); }

__device__ __forceinline__ float rounded_to_f16(float x) { return first_of(twice_f16(x)); }
