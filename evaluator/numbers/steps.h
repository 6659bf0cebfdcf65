#pragma once

#include "engine/base/dtype.h"

namespace evo {

/// The number as the dtype holds it: floats are rounded to nearest even, integers are as they are.
double rounded_to(DType dtype, double value);

/// From a number to the next one that the dtype holds; 1 for integers.
double step_at(DType dtype, double value);

/// Whether two numbers of one sign lie at the end of what the dtype holds: an infinity beside its greatest number,
/// which a last bit may make of one another.
bool is_beside_greatest(DType dtype, double got, double want);

}  // namespace evo
