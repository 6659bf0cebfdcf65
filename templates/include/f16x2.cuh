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

__device__ __forceinline__ f16x2 twice_f16(float x) { return f16x2_from_f32(x, x); }

__device__ __forceinline__ float rounded_to_f16(float x) { return first_of(twice_f16(x)); }
