#include "engine/task/limits.h"

#include <algorithm>

namespace evo {
namespace {

/// A row may err by this many times what the whole output may. Errors of single rows scatter, those of thousands do
/// not.
constexpr double kRowFactor = 8;

/// Several times the rounding of one element, because kernels and references add in different orders.
double usual_relative_l2(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-5;
    case DType::f16:
      return 2e-3;
    case DType::bf16:
      return 1e-2;
    default:
      return 6e-2;
  }
}

/// Of what a call is to change. Kernels that compute in f32 err by some roundings of the dtype, far less than this; one
/// that leaves the tensor as it is errs by 1.
double usual_change(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-10;
    case DType::f32:
      return 1e-4;
    case DType::f16:
      return 1e-2;
    case DType::bf16:
      return 5e-2;
    default:
      return 0.25;
  }
}

/// Who allows larger errors of the tensor allows them of the change, too, but never that nothing changes.
constexpr double kChangeFactor = 4, kMostOfChange = 0.5;

}  // namespace

Limits usual_limits(DType dtype) {
  Limits limits;
  limits.exact = is_integer(dtype);
  if (!limits.exact) limits.relative_l2 = usual_relative_l2(dtype);
  return limits;
}

Limits limits_of_output(const Task& task, const Tensor& output, const Bindings& options, const Limits& objective) {
  const DType dtype = dtype_of(output, options);
  // Codes stand for real numbers, and are as coarse as a narrow float.
  const bool codes = is_integer(dtype) && !output.scale.empty();
  Limits limits = objective;
  const auto own =
      std::ranges::find_if(output.limits, [&](const OutputLimits& one) { return one.when.evaluate_bool(options); });
  if (own != output.limits.end()) {
    limits = own->limits;
  } else if ((is_integer(dtype) && !codes) || !task.has_limits) {
    limits = usual_limits(codes ? DType::e4m3 : dtype);
  }
  if (!limits.exact && limits.row_l2 == 0) limits.row_l2 = kRowFactor * limits.relative_l2;
  if (output.inout && is_floating(dtype) && !limits.exact && limits.change == 0) {
    const bool own_error = limits.relative_l2 > usual_relative_l2(dtype);
    limits.change = std::max(usual_change(dtype), own_error ? kChangeFactor * limits.relative_l2 : 0);
    limits.change = std::min(limits.change, kMostOfChange);
  }
  return limits;
}

}  // namespace evo
