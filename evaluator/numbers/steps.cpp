#include "evaluator/numbers/steps.h"

#include <algorithm>
#include <cmath>

#include "evaluator/numbers/float_formats.h"

namespace evo {

double rounded_to(DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return static_cast<float>(value);
    case DType::f16:
      return f32_from_f16(f16_from_f64(value));
    case DType::bf16:
      return f32_from_bf16(bf16_from_f64(value));
    case DType::e4m3:
      return f32_from_e4m3(e4m3_from_f32(static_cast<float>(value)));
    case DType::e5m2:
      return f32_from_e5m2(e5m2_from_f32(static_cast<float>(value)));
    default:
      return value;
  }
}

double step_at(DType dtype, double value) {
  const DTypeInfo& format = info_of(dtype);
  if (format.digits == 0) return 1;
  const int exponent = value == 0 ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

bool is_beside_greatest(DType dtype, double got, double want) {
  if (std::isnan(got) || std::isnan(want) || std::signbit(got) != std::signbit(want)) return false;
  const double greatest = info_of(dtype).greatest;
  return std::min(std::fabs(got), std::fabs(want)) >= greatest - step_at(dtype, greatest);
}

}  // namespace evo
