// Elements in ${dtype}, and their values, exactly.
typedef ${dtype == 'f32' ? 'float' : 'unsigned short'} Element;

__device__ double decode(float element) { return element; }
__device__ double decode(unsigned short element) {
  constexpr bool is_bf16 = ${dtype == 'bf16'};
  if constexpr (is_bf16) return __uint_as_float((unsigned int)element << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
  return value;
}
