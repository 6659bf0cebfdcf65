#pragma once

#include <cstdint>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// Makes of elements `begin` to `end` of an input, which are at values[0], values[1], ..., what the steps of its regime
/// say, one step after another. Each element depends on the recipe and its number alone.
void apply_steps(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values);

}  // namespace evo
