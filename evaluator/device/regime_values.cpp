#include "evaluator/device/regime_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "engine/record/enumerators.h"
#include "evaluator/base/random.h"
#include "evaluator/device/draw_steps.h"

namespace evo {
namespace {

std::array<std::uint32_t, 4> words_of(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t block) {
  return philox(recipe.stream, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                                static_cast<std::uint32_t>(purpose), 0});
}

/// Elements `begin` to `end` of an input, which are drawn to values[0], values[1], ... `begin` is a multiple of 4.
struct DrawnPart {
  const InputRecipe& recipe;
  std::uint64_t seed;
  std::uint64_t begin;
  std::uint64_t end;
  float* values;

  float gain() const { return static_cast<float>(recipe.gain); }
};

/// visit(value, the element's own random word) for each element.
template <typename Visit>
void visit_words(const DrawnPart& part, InputPurpose purpose, Visit visit) {
  for (std::uint64_t i = part.begin; i < part.end; i += 4) {
    const auto four = words_of(part.recipe, purpose, i / 4);
    for (std::uint64_t lane = 0; lane < std::min<std::uint64_t>(4, part.end - i); ++lane)
      visit(part.values[i - part.begin + lane], four[lane]);
  }
}

void draw_normal(const DrawnPart& part, double gain) {
  visit_words(part, InputPurpose::value,
              [&](float& value, std::uint32_t word) { value = static_cast<float>(gain * normal_from_word(word)); });
}

/// From 0 to gain.
void draw_uniform(const DrawnPart& part) {
  visit_words(part, InputPurpose::value, [&](float& value, std::uint32_t word) {
    value = static_cast<float>(part.recipe.gain * ((word + 0.5) * 0x1.0p-32));
  });
}

/// Multiplies by `factor` where the element's own choice word is below `share` of 2^32.
void scale_some(const DrawnPart& part, double share, float factor) {
  const auto limit = static_cast<std::uint32_t>(share * 0x1.0p32);
  visit_words(part, InputPurpose::choice, [&](float& value, std::uint32_t word) {
    if (word < limit) value *= factor;
  });
}

/// visit(row, values of it) for each row of the last dimension, or the part of it that is drawn.
template <typename Visit>
void visit_rows(const DrawnPart& part, Visit visit) {
  for (std::uint64_t i = part.begin; i < part.end;) {
    const std::uint64_t row = i / part.recipe.row;
    const std::uint64_t row_end = std::min(part.end, (row + 1) * part.recipe.row);
    visit(row, std::span(part.values + (i - part.begin), part.values + (row_end - part.begin)));
    i = row_end;
  }
}

/// The row's own N(0, gain^2).
double row_number(const InputRecipe& recipe, std::uint64_t row) {
  return recipe.gain * normal_from_word(random_word(recipe, InputPurpose::row, row));
}

void draw_constant_rows(const DrawnPart& part) {
  visit_rows(part, [&](std::uint64_t row, std::span<float> elements) {
    std::ranges::fill(elements, static_cast<float>(row_number(part.recipe, row)));
  });
}

/// Multiplies one row of each matrix by gain: chosen(matrix) is its number.
template <typename Chosen>
void raise_rows(const DrawnPart& part, Chosen chosen) {
  const std::uint64_t rows = part.recipe.matrix / part.recipe.row;
  visit_rows(part, [&](std::uint64_t row, std::span<float> elements) {
    if (row % rows != chosen(row / rows)) return;
    for (float& value : elements) value *= part.gain();
  });
}

void raise_first_row(const DrawnPart& part) {
  raise_rows(part, [](std::uint64_t) { return 0U; });
}

/// In every second matrix the last one, where a kernel that drops a tail fails.
void raise_spiked_rows(const DrawnPart& part) {
  const std::uint64_t rows = part.recipe.matrix / part.recipe.row;
  raise_rows(part, [&](std::uint64_t matrix) {
    return (matrix + part.seed) % 2 == 1 ? rows - 1
                                         : (random_word(part.recipe, InputPurpose::row, matrix) * rows) >> 32;
  });
}

void scale_rows_log_normally(const DrawnPart& part) {
  visit_rows(part, [&](std::uint64_t row, std::span<float> elements) {
    const double factor = std::exp2(row_number(part.recipe, row));
    for (float& value : elements) value = static_cast<float>(value * factor);
  });
}

/// The column is the matrix's own.
void raise_common_channel(const DrawnPart& part) {
  const InputRecipe& recipe = part.recipe;
  const std::uint64_t rows = recipe.matrix / recipe.row;
  for (std::uint64_t i = part.begin; i < part.end; ++i) {
    const std::uint64_t matrix = i / recipe.row / rows;
    const std::uint64_t column = (random_word(recipe, InputPurpose::row, matrix) * recipe.row) >> 32;
    if (i % recipe.row == column) part.values[i - part.begin] += part.gain();
  }
}

/// Of the largest value of a dtype.
constexpr double kFarthest = 0.9;
/// What the halves of odd numbers are multiplied by in the regime of ties, and how many powers of two scales are.
constexpr std::array<float, 4> kTieScales = {0.5F, 1, 1, 2};
constexpr int kPowersOfTwo = 5;

/// The normal values that a distribution begins with: none, or those of deviation 1 or of deviation gain.
enum class Normals { none, unit, scaled };
/// How the values of a distribution are drawn: what they begin as, and what is then made of them.
struct Drawing {
  Distribution distribution;
  Normals normals;
  void (*change)(const DrawnPart& part);
};

void zero_first_group(const DrawnPart& part) {
  const std::uint64_t group = part.recipe.group;
  if (part.begin < group) std::fill_n(part.values, std::min(part.end, group) - part.begin, 0.0F);
}

void draw_largest(const DrawnPart& part) {
  std::fill_n(part.values, part.end - part.begin, part.gain());
  scale_some(part, 0.5, -1.0F);
}

/// The seed says which rows, so that a tensor of one row is far, too.
void move_rows_away(const DrawnPart& part) {
  const float far = largest_move(part.recipe);
  const std::uint64_t half = (part.recipe.row + 1) / 2;
  for (std::uint64_t i = part.begin; i < part.end; ++i) {
    const std::uint64_t kind = (i / part.recipe.row + part.seed) % 4;
    float& value = part.values[i - part.begin];
    if (kind == 0 || (kind == 2 && i % part.recipe.row < half)) value -= far;
    if (kind == 1) value += far;
  }
}

/// An odd number below 2 gain without the divisors of decimal fractions and of the numbers of codes (7, 15, 127, 255).
/// Divided by a scale that is no power of two, its half does not fall close to a tie, where the last bit would decide.
std::uint64_t odd_number(std::uint64_t below, std::uint32_t word) {
  std::uint64_t odd = word % below | 1U;
  const auto divides = [&](std::uint64_t divisor) { return odd % divisor == 0; };
  while (divides(3) || divides(5) || divides(7) || divides(17) || divides(127)) odd -= 2;
  return odd;
}

/// Halves of odd numbers, times a power of two; a row's first number and one in eight are its largest value, so that
/// scales that follow from it are powers of two. In some rows that is what 4 bits hold.
void draw_halves(const DrawnPart& part) {
  const std::array<double, 4> greatest = {part.recipe.gain, std::min(7.0, part.recipe.gain),
                                          std::min(15.0, part.recipe.gain), part.recipe.gain};
  std::uint64_t i = part.begin;
  visit_words(part, InputPurpose::value, [&](float& value, std::uint32_t word) {
    const double most = greatest.at((i / part.recipe.row + part.seed) % greatest.size());
    const double half = static_cast<double>(odd_number(static_cast<std::uint64_t>(2 * most), word >> 6U)) / 2;
    const bool first = i++ % part.recipe.row == 0;
    double size = first || (word & 7U) == 0 ? most : half * kTieScales.at(word >> 3U & 3U);
    if (size > most) size /= 4;
    value = static_cast<float>((word >> 5U & 1U) != 0 ? -size : size);
  });
}

void draw_powers_of_two(const DrawnPart& part) {
  visit_words(part, InputPurpose::value, [&](float& value, std::uint32_t word) {
    value = std::ldexp(1.0F, static_cast<int>(word % kPowersOfTwo) - kPowersOfTwo / 2);
  });
}

void draw_ties(const DrawnPart& part) {
  if (part.recipe.gain <= 1)
    draw_normal(part, part.recipe.gain);
  else
    part.recipe.is_lesser ? draw_powers_of_two(part) : draw_halves(part);
}

void leave(const DrawnPart&) {}

// clang-format off
constexpr auto kDrawings = std::to_array<Drawing>({
    {Distribution::normal, Normals::scaled, leave},
    {Distribution::outliers, Normals::unit, [](const DrawnPart& part) { scale_some(part, 1.0 / 256, part.gain()); }},
    {Distribution::zero_group, Normals::unit, zero_first_group},
    {Distribution::constant_rows, Normals::none, draw_constant_rows},
    {Distribution::sparse, Normals::scaled, [](const DrawnPart& part) { scale_some(part, 0.9, 0.0F); }},
    {Distribution::max_magnitude, Normals::none, draw_largest},
    {Distribution::spikes, Normals::unit, raise_spiked_rows},
    {Distribution::first_row, Normals::unit, raise_first_row},
    {Distribution::log_normal_rows, Normals::unit, scale_rows_log_normally},
    {Distribution::common_channel, Normals::unit, raise_common_channel},
    {Distribution::uniform, Normals::none, draw_uniform},
    {Distribution::far_rows, Normals::unit, move_rows_away},
    // draws.cpp knows what these make of integers.
    {Distribution::all_equal, Normals::scaled, leave},
    {Distribution::extremes, Normals::scaled, leave},
    {Distribution::sorted, Normals::scaled, leave},
    {Distribution::ties, Normals::none, draw_ties},
});
// clang-format on

static_assert(has_row_for_each(kDrawings, &Drawing::distribution),
              "each distribution has its row, in the order of the enumeration");

}  // namespace

/// Far, but not beyond what the dtype holds.
float largest_move(const InputRecipe& recipe) {
  if (recipe.scale) return static_cast<float>(recipe.gain);
  return static_cast<float>(std::min(recipe.gain, kFarthest * info_of(recipe.dtype).greatest));
}

std::vector<double> row_factors(const InputRecipe& recipe) {
  std::vector<double> factors;
  if (recipe.distribution != Distribution::log_normal_rows) return factors;
  for (std::uint64_t row = 0; row * recipe.row < recipe.elements; ++row)
    factors.push_back(std::exp2(row_number(recipe, row)));
  return factors;
}

std::uint32_t random_word(const InputRecipe& recipe, InputPurpose purpose, std::uint64_t index) {
  return words_of(recipe, purpose, index / 4)[index % 4];
}

void draw_values(const InputRecipe& recipe, std::uint64_t seed, std::uint64_t begin, std::uint64_t end, float* values) {
  const Drawing& drawing = kDrawings.at(static_cast<std::size_t>(recipe.distribution));
  const DrawnPart part{recipe, seed, begin, end, values};
  if (drawing.normals != Normals::none) draw_normal(part, drawing.normals == Normals::unit ? 1.0 : recipe.gain);
  drawing.change(part);
  apply_steps(recipe, begin, end, values);
}

}  // namespace evo
