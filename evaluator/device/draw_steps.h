#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// Makes of elements `begin` to `end` of an input, which are at values[0], values[1], ..., what the steps of its regime
/// say, one step after another. Each element depends on the recipe and its number alone.
void apply_steps(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values);

/// What a step does to an element by its row and column alone. Another machine that makes the same steps needs these
/// numbers, and no mathematical library.
struct StepTables {
  std::vector<double> rows;     ///< Of each row, or of all alike: the factor, then the addend that come first.
  std::vector<double> columns;  ///< Of each column, or of each of each matrix: what it multiplies by, adds or puts.
  bool by_matrix = false;
};

/// Whether of an element's number, row and column nothing but multiplication and comparison makes a step.
bool has_tables(const InputStep& step);
StepTables tables_of(const InputStep& step, const InputRecipe& recipe);
/// No step leaves a larger number.
double largest_stepped(const InputRecipe& recipe);

}  // namespace evo
