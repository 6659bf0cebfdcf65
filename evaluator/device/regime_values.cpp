#include "evaluator/device/regime_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "evaluator/base/random.h"

namespace evo {
namespace {

std::array<std::uint32_t, 4> words_of(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t block) {
  return philox(recipe.stream, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                static_cast<std::uint32_t>(purpose), 0});
}

/// Elements `begin` to `end` of an input, which are drawn to values[0], values[1], ...: of_word(the element's own
/// random word) times gain. `begin` is a multiple of 4.
template <typename OfWord>
void draw_each(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values,
               OfWord of_word) {
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words_of(recipe, InputPurpose::value, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      values[i - begin + lane] = static_cast<float>(gain * of_word(four[lane]));
    }
  }
}

void draw_normal(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values) {
  draw_each(recipe, begin, end, gain, values, normal_from_word);
}

/// From 0 to gain.
void draw_uniform(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double gain, float* values) {
  draw_each(recipe, begin, end, gain, values, [](std::uint32_t word) { return (word + 0.5) * 0x1.0p-32; });
}

/// Multiplies by `factor` where the element's own choice word is below `share` of 2^32.
void scale_some(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, double share, float factor,
                float* values) {
  const auto limit = static_cast<std::uint32_t>(share * 0x1.0p32);
  for (std::uint64_t i = begin; i < end; i += 4) {
    const auto four = words_of(recipe, InputPurpose::choice, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, end - i); ++lane) {
      if (four[lane] < limit) values[i - begin + lane] *= factor;
    }
  }
}

/// visit(row, values of it) for each row of the last dimension, or the part of it, from `begin` to `end`.
template <typename Visit>
void visit_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values, Visit visit) {
  for (std::uint64_t i = begin; i < end;) {
    const std::uint64_t row = i / recipe.row;
    const std::uint64_t row_end = std::min(end, (row + 1) * recipe.row);
    visit(row, std::span(values + (i - begin), values + (row_end - begin)));
    i = row_end;
  }
}

void draw_constant_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    std::ranges::fill(elements,
                      static_cast<float>(recipe.gain * normal_from_word(random_word(recipe, InputPurpose::row, row))));
  });
}

/// The row that stands out: in every second matrix the last one, where a kernel that drops a tail fails.
std::uint64_t spiked_row(const InputRecipe& recipe, std::uint64_t matrix, std::uint64_t seed) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  if ((matrix + seed) % 2 == 1) return rows - 1;
  return (random_word(recipe, InputPurpose::row, matrix) * rows) >> 32;
}

/// Multiplies one row of each matrix by gain: chosen(matrix) is its number.
template <typename Chosen>
void raise_rows(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values, Chosen chosen) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    if (row % rows != chosen(row / rows)) return;
    for (float& value : elements) value *= static_cast<float>(recipe.gain);
  });
}

void scale_rows_log_normally(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  visit_rows(recipe, begin, end, values, [&](std::uint64_t row, std::span<float> elements) {
    const double factor = std::exp2(recipe.gain * normal_from_word(random_word(recipe, InputPurpose::row, row)));
    for (float& value : elements) value = static_cast<float>(value * factor);
  });
}

/// The column is the matrix's own.
void raise_common_channel(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  const std::uint64_t rows = recipe.matrix / recipe.row;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::uint64_t matrix = i / recipe.row / rows;
    const std::uint64_t column = (random_word(recipe, InputPurpose::row, matrix) * recipe.row) >> 32;
    if (i % recipe.row == column) values[i - begin] += static_cast<float>(recipe.gain);
  }
}

}  // namespace

std::uint32_t random_word(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t index) {
  return words_of(recipe, purpose, index / 4)[index % 4];
}

void draw_values(const InputRecipe& recipe, std::uint64_t seed, std::uint64_t begin, std::uint64_t end, float* values) {
  const auto gain = static_cast<float>(recipe.gain);
  switch (recipe.distribution) {
    case Distribution::normal:
      draw_normal(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::outliers:
      draw_normal(recipe, begin, end, 1.0, values);
      scale_some(recipe, begin, end, 1.0 / 256, gain, values);
      break;
    case Distribution::zero_group:
      draw_normal(recipe, begin, end, 1.0, values);
      if (begin < recipe.group) std::fill_n(values, std::min(end, recipe.group) - begin, 0.0F);
      break;
    case Distribution::spikes:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_rows(recipe, begin, end, values, [&](std::uint64_t matrix) { return spiked_row(recipe, matrix, seed); });
      break;
    case Distribution::first_row:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_rows(recipe, begin, end, values, [](std::uint64_t) { return std::uint64_t{0}; });
      break;
    case Distribution::log_normal_rows:
      draw_normal(recipe, begin, end, 1.0, values);
      scale_rows_log_normally(recipe, begin, end, values);
      break;
    case Distribution::common_channel:
      draw_normal(recipe, begin, end, 1.0, values);
      raise_common_channel(recipe, begin, end, values);
      break;
    case Distribution::uniform:
      draw_uniform(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::constant_rows:
      draw_constant_rows(recipe, begin, end, values);
      break;
    case Distribution::sparse:
      draw_normal(recipe, begin, end, recipe.gain, values);
      scale_some(recipe, begin, end, 0.9, 0.0F, values);
      break;
    case Distribution::all_equal:
    case Distribution::extremes:
    case Distribution::sorted:
    case Distribution::ties:
      draw_normal(recipe, begin, end, recipe.gain, values);
      break;
    case Distribution::max_magnitude:
      std::fill_n(values, end - begin, gain);
      scale_some(recipe, begin, end, 0.5, -1.0F, values);
      break;
  }
}

}  // namespace evo
