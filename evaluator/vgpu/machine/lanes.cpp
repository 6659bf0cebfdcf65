#include "evaluator/vgpu/machine/lanes.h"

namespace evo::vgpu {

Simd best_simd() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const Simd best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return Simd::avx512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Simd::avx2 : Simd::plain;
  }();
  return best;
#else
  return Simd::plain;
#endif
}

}  // namespace evo::vgpu
