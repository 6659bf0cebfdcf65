#pragma once

#include <string>

#include "engine/base/dtype.h"

namespace evo {

/// How a kernel in single precision may compute, beside the order of its sums.
struct SinglePrecision {
  /// Of the tensors that tensor cores would multiply: bf16 or f16; other dtypes: as they are.
  DType operands = DType::f32;
  /// Answers keep so few bits that the hardware's tanh.approx, which keeps 11, is as good as another.
  bool coarse_tanh = false;
  /// Only doubles become floats, for sources that do not compile otherwise.
  bool plain = false;
};

/// What stands before a source that was rewritten, with honest kernels' arithmetic: functions err by what the
/// hardware's approximations of them are documented to, operands of summed products are rounded to `operands`.
/// `at_random`: sums and products are rounded up or down at random.
std::string single_precision_header(const SinglePrecision& how, bool at_random);

/// A source whose floats compute in that arithmetic.
struct InSinglePrecision {
  std::string source;
  bool had_doubles = false;  ///< Else it was in single precision already.
};
/// The parameters of kernels and pointers stay as they are; kernels other than `kernel` do nothing.
InSinglePrecision in_single_precision(const std::string& source, const std::string& kernel);

}  // namespace evo
