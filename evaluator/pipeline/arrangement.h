#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluator/pipeline/error_shape.h"

namespace evo {

/// How the values of the last two dims must have been moved to explain `got`: rows or columns exchanged, shifted or
/// permuted within groups, tiles transposed, matrices exchanged. Empty when no such move explains every element.
std::string arrangement_of(std::span<const double> got, std::span<const double> want, const std::vector<NamedDim>& dims,
                           const Tolerance& tolerance);

}  // namespace evo
