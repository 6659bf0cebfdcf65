#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// Makes of elements `begin` to `end` of an input, which are at values[0], values[1], ..., what the steps of its regime
/// say, one step after another. Each element depends on the recipe and its number alone.
void apply_steps(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values);

/// What a step takes the mathematical library for, or looks up in each row. Another machine that makes the same steps
/// needs these numbers, and nothing else that is not correctly rounded.
struct StepTables {
  std::vector<double> rows;     ///< Of each row, or of all alike: the factor, then the addend that come first.
  std::vector<double> columns;  ///< Of each column of each matrix, where it multiplies by one.
};

/// Whether these numbers are all that it needs.
bool has_tables(const InputStep& step);
/// How many they are.
std::uint64_t table_size(const InputStep& step, const InputRecipe& recipe);
StepTables tables_of(const InputStep& step, const InputRecipe& recipe);
/// No step leaves a larger number.
double largest_stepped(const InputRecipe& recipe);

}  // namespace evo
