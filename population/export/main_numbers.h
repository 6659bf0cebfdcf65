#pragma once

#include <set>
#include <string>

#include "engine/base/dtype.h"
#include "engine/expression/value.h"

/// Code for dtypes in the program of an exported file: only for those that its task uses.
namespace evo {

/// The values of main_types.cuh, main_numbers.cuh and main_scales.cuh: the enumerators, and for each dtype its size,
/// how its elements are read and written, and the real value of its largest code.
Bindings main_numbers(const std::set<DType>& used);

/// The enumerator of a dtype: "boolean", "f32".
std::string main_dtype(DType dtype);

}  // namespace evo
