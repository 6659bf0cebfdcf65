#include "evaluator/device/draw_steps.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "evaluator/base/random.h"

namespace evo {
namespace {

/// What a counter's third word says the number is for. `value` is that of regime_values.cpp: the step `like` begins
/// with another input's values.
enum class StepPurpose : std::uint32_t { value, choice, row, column, matrix };

std::uint32_t word_of(const InputStep& step, StepPurpose purpose, std::uint64_t index) {
  const std::uint64_t block = index / 4;
  return philox(step.stream, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                              static_cast<std::uint32_t>(purpose), 0})[index % 4];
}

double normal_of(const InputStep& step, StepPurpose purpose, std::uint64_t index) {
  return normal_from_word(word_of(step, purpose, index));
}

/// From 0 to 1, without the ends.
double even_of(const InputStep& step, StepPurpose purpose, std::uint64_t index) {
  return (word_of(step, purpose, index) + 0.5) * 0x1.0p-32;
}

/// Where an element stands.
struct Place {
  std::uint64_t element, row, column, matrix;
  std::uint64_t rows, columns;  ///< Of its matrix.
  std::uint64_t row_in_matrix() const { return row % rows; }
  /// The same for all rows of a matrix.
  std::uint64_t column_of_matrix() const { return matrix * columns + column; }
};

/// So many rows of a matrix are a share of them.
std::uint64_t rows_of_share(const InputStep& step, std::uint64_t rows) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(step.share * static_cast<double>(rows))));
}

/// At least the one that is drawn for the matrix.
bool is_one_of_few(const InputStep& step, const Place& at) {
  const std::uint64_t sure = (std::uint64_t{word_of(step, StepPurpose::matrix, at.matrix)} * at.rows) >> 32;
  return at.row_in_matrix() == sure || even_of(step, StepPurpose::choice, at.row) < step.share;
}

/// Evenly from 1 to `amount`.
double growth(const InputStep& step, std::uint64_t index, std::uint64_t count) {
  return count < 2 ? step.amount : 1 + (step.amount - 1) * static_cast<double>(index) / static_cast<double>(count - 1);
}

/// 2^exponent, finite whatever the exponent.
double power_of_two(double exponent) {
  return std::exp2(std::clamp(exponent, -64.0, 64.0));
}

/// What a step does to all elements of a row alike: value = factor * value + addend.
struct OfRow {
  double factor = 1, addend = 0;
};

OfRow of_row(const InputStep& step, const Place& at) {
  switch (step.step) {
    case StepKind::scale:
      return {step.amount};
    case StepKind::shift:
      return {1, step.amount};
    case StepKind::few_rows:
      return {is_one_of_few(step, at) ? step.amount : 1};
    case StepKind::first_rows:
      return {at.row_in_matrix() < rows_of_share(step, at.rows) ? step.amount : 1};
    case StepKind::last_rows:
      return {at.row_in_matrix() + rows_of_share(step, at.rows) >= at.rows ? step.amount : 1};
    case StepKind::scale_rows:
      return {power_of_two(step.amount * normal_of(step, StepPurpose::row, at.row))};
    case StepKind::scale_matrices:
      return {power_of_two(step.amount * normal_of(step, StepPurpose::matrix, at.matrix))};
    case StepKind::shift_rows:
      return {1, step.amount * normal_of(step, StepPurpose::row, at.row)};
    case StepKind::growing_rows:
      return {growth(step, at.row_in_matrix(), at.rows)};
    case StepKind::constant_rows:
      return {0, normal_of(step, StepPurpose::row, at.row)};
    default:
      return {};
  }
}

/// What a step multiplies the elements of a column by, adds to them or puts in their place.
double of_column(const InputStep& step, const Place& at) {
  switch (step.step) {
    case StepKind::scale_columns:
      return power_of_two(step.amount * normal_of(step, StepPurpose::column, at.column_of_matrix()));
    case StepKind::shift_columns:
      return step.amount * normal_of(step, StepPurpose::column, at.column_of_matrix());
    case StepKind::growing_columns:
      return growth(step, at.column, at.columns);
    case StepKind::constant_columns:
      return normal_of(step, StepPurpose::column, at.column_of_matrix());
    case StepKind::ascending:
      return normal_from_word(static_cast<std::uint32_t>((at.column << 32) / at.columns));
    default:
      return 0;
  }
}

/// What a step makes of one element beyond that.
double of_element(const InputStep& step, const Place& at, double value) {
  switch (step.step) {
    case StepKind::heavy_tail:
      return value / std::pow(even_of(step, StepPurpose::choice, at.element), 1 / step.amount);
    case StepKind::outliers:
      return even_of(step, StepPurpose::choice, at.element) < step.share ? value * step.amount : value;
    case StepKind::zeros:
      return even_of(step, StepPurpose::choice, at.element) < step.share ? 0 : value;
    case StepKind::scale_columns:
    case StepKind::growing_columns:
      return value * of_column(step, at);
    case StepKind::shift_columns:
      return value + of_column(step, at);
    case StepKind::constant_columns:
    case StepKind::ascending:
      return of_column(step, at);
    case StepKind::positive:
      return std::fabs(value);
    case StepKind::negative:
      return -std::fabs(value);
    case StepKind::alternating:
      return at.column % 2 == 0 ? std::fabs(value) : -std::fabs(value);
    case StepKind::rounded:
      return std::nearbyint(value / step.amount) * step.amount;
    case StepKind::like:
      return normal_of(step, StepPurpose::value, at.element);
    default:
      return value;
  }
}

/// No step leaves smaller numbers but 0: their squares are still normal f32.
constexpr double kSmallestStepped = 0x1p-40;

bool is_one_of(const InputStep& step, std::initializer_list<StepKind> kinds) {
  return std::ranges::find(kinds, step.step) != kinds.end();
}

Place first_place(const InputRecipe& recipe) {
  return {0, 0, 0, 0, std::max<std::uint64_t>(1, recipe.matrix / recipe.row), recipe.row};
}

bool is_by_row(const InputStep& step) {
  return is_one_of(step,
                   {StepKind::few_rows, StepKind::first_rows, StepKind::last_rows, StepKind::scale_rows,
                    StepKind::scale_matrices, StepKind::shift_rows, StepKind::growing_rows, StepKind::constant_rows});
}

std::uint64_t columns_of_all(const InputRecipe& recipe) {
  return recipe.elements / first_place(recipe).rows;
}

float within_bounds(double value, double largest) {
  return std::fabs(value) < kSmallestStepped ? 0.0F : static_cast<float>(std::clamp(value, -largest, largest));
}

void apply(const InputStep& step, const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  const double largest = largest_stepped(recipe);
  Place at = first_place(recipe);
  for (std::uint64_t i = begin; i < end;) {
    at.row = i / recipe.row;
    at.matrix = at.row / at.rows;
    const std::uint64_t row_end = std::min(end, (at.row + 1) * recipe.row);
    const OfRow whole = of_row(step, at);
    for (; i < row_end; ++i) {
      at.element = i;
      at.column = i - at.row * recipe.row;
      float& value = values[i - begin];
      value = within_bounds(of_element(step, at, whole.factor * static_cast<double>(value) + whole.addend), largest);
    }
  }
}

}  // namespace

void apply_steps(const InputRecipe& recipe, std::uint64_t begin, std::uint64_t end, float* values) {
  for (const InputStep& step : recipe.steps) apply(step, recipe, begin, end, values);
}

double largest_stepped(const InputRecipe& recipe) {
  return recipe.scale ? kLargestStepped : std::min<double>(kLargestStepped, info_of(recipe.dtype).greatest);
}

bool has_tables(const InputStep& step) {
  return step.step != StepKind::heavy_tail;
}

std::uint64_t table_size(const InputStep& step, const InputRecipe& recipe) {
  const std::uint64_t columns = step.step == StepKind::scale_columns ? columns_of_all(recipe) : 0;
  return 2 * (is_by_row(step) ? recipe.elements / recipe.row : 1) + columns;
}

StepTables tables_of(const InputStep& step, const InputRecipe& recipe) {
  StepTables tables;
  Place at = first_place(recipe);
  const std::uint64_t rows = is_by_row(step) ? recipe.elements / recipe.row : 1;
  for (at.row = 0; at.row < rows; ++at.row) {
    at.matrix = at.row / at.rows;
    const OfRow whole = of_row(step, at);
    tables.rows.insert(tables.rows.end(), {whole.factor, whole.addend});
  }
  const std::uint64_t columns = step.step == StepKind::scale_columns ? columns_of_all(recipe) : 0;
  for (std::uint64_t i = 0; i < columns; ++i) {
    at.matrix = i / at.columns;
    at.column = i % at.columns;
    tables.columns.push_back(of_column(step, at));
  }
  return tables;
}

}  // namespace evo
