#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluator/device/draws.h"
#include "evaluator/device/input_recipe.h"

namespace evo {

/// The bytes of every input, in the recipe's order. The same on every machine: counter-based random numbers and nothing
/// but correctly rounded arithmetic. Values are drawn as f32 by the distribution, then stored as the dtype:
/// - with a scale: per group, scale = amax / 448 (e4m3), 57344 (e5m2), 127 (s8) or 448 (u8: the affine code of
///   a simulated 8-bit float, value = (code / 255 * 896 - 448) * scale, 128 for zero); a group of zeros, and all of an
///   input of unit scale, have scale 1. code = value / scale, rounded to nearest even, saturated.
/// - without: rounded to nearest even, saturated for 8-bit types.
std::vector<std::vector<std::byte>> generate_inputs(const CaseRecipe& recipe);
/// One of them, without the time that the others take: all else is empty, but for what is drawn together with it
/// (codes, their scales and zero points).
std::vector<std::vector<std::byte>> generate_input(const CaseRecipe& recipe, std::size_t number);
/// Elements `begin` to `end` of an input without scales that the regime draws, as they are stored; the first becomes
/// element 0 of `to`. `begin` is a multiple of 4.
void draw_part(const CaseRecipe& recipe, const InputRecipe& input, std::uint64_t begin, std::uint64_t end,
               std::byte* to);
/// How an input is drawn that the regime does not draw.
DrawRecipe draw_recipe(const InputRecipe& input);
/// How many elements differ from one another; those that follow repeat them.
std::uint64_t distinct_elements(const CaseRecipe& recipe, const InputRecipe& input);

}  // namespace evo
