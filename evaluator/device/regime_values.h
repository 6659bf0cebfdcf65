#pragma once

#include <cstdint>
#include <vector>

#include "evaluator/device/input_recipe.h"

namespace evo {

/// What a counter's third word says the number is for, so that choices and values are independent.
enum class InputPurpose : std::uint32_t { value, choice, row, low_bits, perturbation };

/// Word number `index` of a purpose's sequence.
std::uint32_t random_word(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t index);

/// How far the regime far_rows moves the rows of an input.
float largest_move(const InputRecipe& recipe);

/// What the regime log_normal_rows multiplies each row by; empty in others.
std::vector<double> row_factors(const InputRecipe& recipe);

/// Elements that one thread makes at a time; a multiple of the four words of a Philox block.
inline constexpr std::uint64_t kDrawnAtOnce = 1 << 14;

/// Elements `begin` to `end` of an input, drawn by its distribution to values[0], values[1], ... `begin` is a multiple
/// of 4. `seed`: of the case.
void draw_values(const InputRecipe& recipe, std::uint64_t seed, std::uint64_t begin, std::uint64_t end, float* values);

}  // namespace evo
