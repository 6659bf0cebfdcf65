#pragma once

#include <set>
#include <string>

#include "engine/base/dtype.h"

/// Code for dtypes in the program of an exported file: only for those that its task uses.
namespace evo {

/// "e4m3, f32": the enumerators.
std::string main_dtypes(const std::set<DType>& used);

/// Their sizes, and the functions that read and write their elements.
std::string main_numbers(const std::set<DType>& used);

/// The function that gives the real value of their largest codes.
std::string main_largest(const std::set<DType>& used);

/// The enumerator of a dtype: "boolean", "f32".
std::string main_dtype(DType dtype);

}  // namespace evo
