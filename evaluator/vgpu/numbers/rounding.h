#pragma once

#include <cfenv>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/numbers/cpu_clones.h"

/// Arithmetic in a rounding mode other than to-nearest. It uses the CPU's own rounding modes.
namespace evo::vgpu {

/// Sets the CPU's rounding mode for the scope and restores the former one. Modes that the CPU lacks (.rna) count as
/// to-nearest.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) { std::fesetround(mode_of(rounding)); }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int mode_of(Rounding rounding) {
    switch (rounding) {
      case Rounding::rz:
        return FE_TOWARDZERO;
      case Rounding::rm:
        return FE_DOWNWARD;
      case Rounding::rp:
        return FE_UPWARD;
      default:
        return FE_TONEAREST;
    }
  }
  int before_;
};

/// The value itself. The compiler can neither move nor fold its computation across a change of the rounding mode.
template <class T>
EVO_INLINE T pinned(T value) {
  asm volatile("" : "+m"(value) : : "memory");
  return value;
}

}  // namespace evo::vgpu
