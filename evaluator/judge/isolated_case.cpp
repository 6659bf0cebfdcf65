#include "evaluator/judge/isolated_case.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// The middle of the affine codes of a simulated float stands for zero.
constexpr std::int64_t kAffineZero = 128;

void fill(const InputRecipe& input, bool with_ones, std::span<std::byte> content) {
  Number value = is_floating(input.dtype) ? Number(with_ones ? 1.0 : 0.0) : Number(std::int64_t{with_ones ? 1 : 0});
  if (!with_ones && input.dtype == DType::u8 && input.scale && !input.zero_point) value = Number(kAffineZero);
  for (std::uint64_t i = 0; i < input.elements; ++i) store_at(input.dtype, content.data(), i, value);
}

/// Where the element is taken from.
std::uint64_t source_of(const InputRecipe& input, const InputEdit& edit, std::uint64_t element) {
  std::uint64_t matrix = element / input.matrix, row = element % input.matrix / input.row, column = element % input.row;
  if (edit.matrices) matrix = 0;
  if (edit.columns) row = 0;
  if (edit.rows) column = 0;
  return matrix * input.matrix + row * input.row + column;
}

void apply(const InputRecipe& input, const InputEdit& edit, std::span<std::byte> content) {
  if (edit.zero || edit.equal) return fill(input, edit.equal, content);
  // A source never comes after what is taken from it.
  for (std::uint64_t i = 0; i < input.elements; ++i)
    store_at(input.dtype, content.data(), i, load_at(input.dtype, content.data(), source_of(input, edit, i)));
  if (!edit.ramp) return;
  for (std::uint64_t i = 0; i < input.elements; ++i)
    store_at(input.dtype, content.data(), i,
             as_double(load_at(input.dtype, content.data(), i)) * static_cast<double>(i + 1));
}

/// The recipe whose inputs are these bytes.
CaseRecipe given(CaseRecipe recipe, const std::vector<std::vector<std::byte>>& contents) {
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
    InputRecipe& input = recipe.inputs[i];
    if (input.elements == 0) continue;
    input.draw = DrawKind::file;
    input.is_computed = false;
    input.content.assign(reinterpret_cast<const char*>(contents[i].data()), contents[i].size());
  }
  return recipe;
}

const Regime& regime_of(const Task& task, const Isolation& isolation, const Case& like) {
  const auto found = std::ranges::find(task.regimes, isolation.regime, &Regime::name);
  return found == task.regimes.end() ? like.regime : *found;
}

Shape shape_of(const Isolation& isolation, const Case& like) {
  if (isolation.shape.empty()) return like.shape;
  Shape shape = like.shape;
  shape.name.clear();
  for (const auto& [name, value] : isolation.shape) shape.parameters.insert_or_assign(name, value);
  for (const auto& [name, value] : shape.parameters)
    shape.name += (shape.name.empty() ? "" : ",") + name + "=" + expr::to_string(value);
  return shape;
}

}  // namespace

Case isolated_case(const Task& task, const Bindings& options, const Isolation& isolation, const Case& like,
                   std::uint64_t salt) {
  Case one{shape_of(isolation, like), regime_of(task, isolation, like), like.seed, {}};
  one.recipe = recipe_of_case(task, options, one.shape, one.regime, one.seed, salt);
  if (isolation.edits.empty()) return one;
  // Gaps between strided elements are made anew from the dense ones.
  CaseRecipe dense = one.recipe;
  for (InputRecipe& input : dense.inputs) input.strides.clear();
  std::vector<std::vector<std::byte>> contents = generate_inputs(dense);
  for (const InputEdit& edit : isolation.edits) {
    const auto input = std::ranges::find(one.recipe.inputs, edit.input, &InputRecipe::name);
    if (input == one.recipe.inputs.end()) throw machine_error("the case has no input " + edit.input);
    if (input->elements > 0)
      apply(*input, edit, contents.at(static_cast<std::size_t>(input - one.recipe.inputs.begin())));
  }
  one.recipe = given(std::move(one.recipe), contents);
  return one;
}

}  // namespace evo
