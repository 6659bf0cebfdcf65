#pragma once

#include <cstdint>

#include "evaluator/numbers/float_formats.h"
#include "evaluator/vgpu/parts/choose.h"

/// What the files about cvt share.
namespace evo::vgpu {

/// Rounding to an integral value: to the nearest, towards zero, down, up.
enum class Integral { none, rni, rzi, rmi, rpi };

/// The modifiers of a cvt.
struct ConvertStyle {
  Integral integral = Integral::none;
  Rounding rounding = Rounding::rn;
  bool flush = false;
  bool saturate = false;
  bool saturate_finite = false;
  bool relu = false;
};

// How a Narrowing travels in Instruction::immediate.
std::int64_t encode(const ConvertStyle& style);
Narrowing narrowing_of(const Instruction& in);

template <Integral kMode, class F>
EVO_INLINE F integral(F x) {
  if constexpr (sizeof(F) == 4) {
    if constexpr (kMode == Integral::rni) return __builtin_rintf(x);
    if constexpr (kMode == Integral::rzi) return __builtin_truncf(x);
    if constexpr (kMode == Integral::rmi) return __builtin_floorf(x);
    if constexpr (kMode == Integral::rpi) return __builtin_ceilf(x);
  } else {
    if constexpr (kMode == Integral::rni) return __builtin_rint(x);
    if constexpr (kMode == Integral::rzi) return __builtin_trunc(x);
    if constexpr (kMode == Integral::rmi) return __builtin_floor(x);
    if constexpr (kMode == Integral::rpi) return __builtin_ceil(x);
  }
  return x;
}

// Conversions with an integer on one side, or both.
Execute choose_integer_to_integer(Form& form, ptx::Type to, ptx::Type from, bool saturate);
Execute choose_integer_to_float(Form& form, ptx::Type to, ptx::Type from, const ConvertStyle& style);
Execute choose_float_to_integer(Form& form, ptx::Type to, ptx::Type from, Integral integral);

}  // namespace evo::vgpu
