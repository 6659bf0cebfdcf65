#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// to[index] = value, rounded to nearest even; saturated where the format has no infinity, and for integers.
void store_rounded(DType dtype, float value, std::byte* to, std::uint64_t index);

/// Scale and zero point of a group of values.
struct Quantiser {
  float scale = 1;
  float zero_point = 0;
};

/// That of values from `low` to `high`, as its tensors store it. Where low > high there is no value.
Quantiser quantiser_of(const CaseRecipe& recipe, const InputRecipe& input, float low, float high);
/// The codes of values[0], values[1], ..., elements `begin` to `end` of an input. The first becomes number `at` of
/// codes.
void encode(const InputRecipe& input, const std::vector<Quantiser>& of_groups, std::uint64_t begin, std::uint64_t end,
            const float* values, std::byte* codes, std::uint64_t at);

/// Encodes the values of an input with scales: its codes to `codes`, its scales and zero points into `contents`, which
/// are those of the case's inputs.
void quantise(const CaseRecipe& recipe, const InputRecipe& input, const std::vector<float>& values,
              std::vector<std::vector<std::byte>>& contents, std::byte* codes);

}  // namespace evo
