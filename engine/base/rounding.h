#pragma once

#include "engine/base/dtype.h"

namespace evo {

/// The greatest value to which kernels round what they compute for an output of this dtype, of integers or of 8 bits;
/// 1 for other outputs. Wider integers are rounded to where they are small.
double greatest_rounded_to(DType dtype);

}  // namespace evo
