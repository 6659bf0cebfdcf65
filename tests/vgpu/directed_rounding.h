#pragma once

#include <cmath>
#include <limits>

#include "evaluator/numbers/float_formats.h"

namespace evo::vgpu {

/// An f64 rounded to f32 by definition: to the nearest one, then to the neighbour that the rounding asks for.
inline float rounded_to_f32(double value, Rounding rounding) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto nearest = static_cast<float>(value);
  const auto exact = static_cast<double>(nearest);
  if (rounding == Rounding::rz && std::fabs(exact) > std::fabs(value)) return std::nextafter(nearest, 0.f);
  if (rounding == Rounding::rm && exact > value) return std::nextafter(nearest, -kInfinity);
  if (rounding == Rounding::rp && exact < value) return std::nextafter(nearest, kInfinity);
  return nearest;
}

}  // namespace evo::vgpu
