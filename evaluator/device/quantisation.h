#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// to[index] = value, rounded to nearest even; saturated where the format has no infinity, and for integers.
void store_rounded(DType dtype, float value, std::byte* to, std::uint64_t index);

/// Encodes the values of an input with scales: its codes to `codes`, its scales and zero points into `contents`, which
/// are those of the case's inputs.
void quantise(const CaseRecipe& recipe, const InputRecipe& input, const std::vector<float>& values,
              std::vector<std::vector<std::byte>>& contents, std::byte* codes);

}  // namespace evo
