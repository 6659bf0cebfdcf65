// Elements in ${dtype}, and their values, exactly.
//% if dtype == 'f32'
typedef float Element;
__device__ double decode(Element element) { return element; }
//% elif dtype == 'bf16'
typedef unsigned short Element;
__device__ double decode(Element element) { return __uint_as_float((unsigned int)element << 16); }
//% else
typedef unsigned short Element;
__device__ double decode(Element element) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
  return value;
}
//% end
