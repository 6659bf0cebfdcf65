// Elements in ${dtype}, and their values, exactly.
enum class Dtype { bf16, f16, f32 };
constexpr Dtype dtype = Dtype::${dtype};
typedef ${dtype == 'f32' ? 'float' : 'unsigned short'} Element;

__device__ double decode(float element) { return element; }
__device__ double decode(unsigned short element) {
  if constexpr (dtype == Dtype::bf16) return __uint_as_float((unsigned int)element << 16);
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
  return value;
}
