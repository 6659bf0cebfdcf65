#include "evaluator/device/input_recipe.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/task/scope.h"
#include "evaluator/base/random.h"
#include "evaluator/device/strided_layout.h"

namespace evo {
namespace {

std::uint64_t product(const std::vector<std::int64_t>& dims, std::size_t from) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from), dims.end(), std::uint64_t{1},
                         [](std::uint64_t a, std::int64_t b) { return a * static_cast<std::uint64_t>(b); });
}

std::optional<std::uint32_t> index_of_input(const Task& task, const std::string& name) {
  for (std::size_t i = 0; i < task.inputs.size(); ++i) {
    if (task.inputs[i].name == name) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

/// As many dims as the tensor has; those that the scale does not have are 1.
std::vector<std::uint64_t> scale_dims_of(const Tensor& scale, const Bindings& known, std::size_t rank) {
  std::vector<std::uint64_t> dims;
  for (const std::int64_t dim : dims_of(scale, known)) dims.push_back(static_cast<std::uint64_t>(dim));
  dims.resize(std::max(rank, dims.size()), 1);
  return dims;
}

InputRecipe resolve_input(const Task& task, const Tensor& tensor, const Bindings& known, const Bindings& options,
                          const Regime& regime) {
  InputRecipe recipe;
  recipe.name = tensor.name;
  recipe.dtype = dtype_of(tensor, options);
  if (!is_present(tensor, options)) return recipe;
  const std::vector<std::int64_t> dims = dims_of(tensor, known);
  recipe.elements = product(dims, 0);
  recipe.row = dims.empty() ? 1 : product(dims, dims.size() - 1);
  recipe.matrix = dims.size() < 2 ? recipe.elements : product(dims, dims.size() - 2);
  recipe.group = recipe.matrix;
  recipe.dims.assign(dims.begin(), dims.end());
  if (!tensor.strides.empty())
    for (const std::int64_t stride : strides_of(tensor, known))
      recipe.strides.push_back(static_cast<std::uint64_t>(stride));
  recipe.draw = tensor.draw.kind;
  recipe.numbers = evaluate(tensor.draw, known);
  if (!tensor.scale.empty()) {
    recipe.scale = index_of_input(task, tensor.scale);
    if (!recipe.scale) throw usage_error("input " + tensor.name + ": its scale " + tensor.scale + " is not an input");
    if (!tensor.zero_point.empty()) recipe.zero_point = index_of_input(task, tensor.zero_point);
    recipe.scale_dims = scale_dims_of(task.inputs[*recipe.scale], known, dims.size());
    recipe.dims.resize(recipe.scale_dims.size(), 1);
    recipe.group = 1;
    for (std::size_t i = 0; i < recipe.dims.size(); ++i)
      recipe.group *= (recipe.dims[i] + recipe.scale_dims[i] - 1) / recipe.scale_dims[i];
  }
  const bool applies = regime.tensors.empty() ||
                       std::find(regime.tensors.begin(), regime.tensors.end(), tensor.name) != regime.tensors.end();
  if (applies) {
    recipe.distribution = regime.distribution;
    recipe.gain = regime.gain;
    recipe.unit_scale = regime.unit_scales;
  }
  return recipe;
}

/// Only one tensor is far from zero: far numbers times far ones leave no digits of a difference.
void keep_one_far(CaseRecipe& recipe, const std::vector<InputRecipe*>& floats) {
  std::vector<InputRecipe*> far;
  std::ranges::copy_if(floats, std::back_inserter(far),
                       [](const InputRecipe* input) { return input->distribution == Distribution::far_rows; });
  for (std::size_t i = 0; i < far.size(); ++i) {
    if (i == recipe.seed % far.size()) continue;
    far[i]->distribution = Distribution::normal;
    far[i]->gain = 1;
  }
}

/// `key`: of the case. A stream depends on the step's place, so that two of a kind draw other numbers.
std::vector<InputStep> resolve_steps(const Regime& regime, const std::string& tensor, std::uint64_t key) {
  std::vector<InputStep> steps;
  for (std::size_t i = 0; i < regime.steps.size(); ++i) {
    const DrawStep& step = regime.steps[i];
    if (!step.tensors.empty() && std::ranges::find(step.tensors, tensor) == step.tensors.end()) continue;
    const std::uint64_t stream = step.step == StepKind::like ? mix(key, step.like) : mix(mix(key, tensor), i + 1);
    steps.push_back({step.step, step.amount, step.share, stream});
  }
  return steps;
}

}  // namespace

CaseRecipe make_recipe(const Task& task, const Bindings& options, const Shape& shape, const Regime& regime,
                       std::uint64_t seed, std::uint64_t salt) {
  const Bindings known = joined(options, shape.parameters);
  CaseRecipe recipe;
  recipe.seed = seed;
  const std::uint64_t key = mix(mix(mix(mix(salt, task.name), shape.name), regime.name), seed);
  for (const Tensor& tensor : drawn_tensors(task)) {
    recipe.inputs.push_back(resolve_input(task, tensor, known, options, regime));
    InputRecipe& input = recipe.inputs.back();
    input.stream = mix(key, tensor.name);
    input.steps = resolve_steps(regime, tensor.name, key);
    if (input.draw == DrawKind::file) input.content = task.files.at(tensor.draw.path);
  }
  for (const InputRecipe& input : recipe.inputs) {
    if (input.scale) recipe.inputs[*input.scale].is_computed = true;
    if (input.zero_point) recipe.inputs[*input.zero_point].is_computed = true;
  }
  std::vector<InputRecipe*> floats;
  std::uint64_t most = 0;
  for (InputRecipe& input : recipe.inputs) {
    if (input.elements == 0 || input.is_computed || !is_drawn_by_regime(input)) continue;
    floats.push_back(&input);
    most = std::max(most, input.elements);
  }
  for (InputRecipe* input : floats) input->is_lesser = input->elements < most;
  keep_one_far(recipe, floats);
  return recipe;
}

bool is_drawn_by_regime(const InputRecipe& input) {
  return input.draw == DrawKind::automatic && (is_floating(input.dtype) || input.scale);
}

DType stored_dtype(const InputRecipe& input) {
  return input.widened.value_or(input.dtype);
}

std::uint64_t input_bytes(const CaseRecipe& recipe) {
  std::uint64_t bytes = 0;
  for (const InputRecipe& input : recipe.inputs) bytes += bytes_of(input);
  return bytes;
}

std::uint64_t bytes_of(const InputRecipe& input) {
  if (input.strides.empty() || input.elements == 0) return bytes_for(stored_dtype(input), input.elements);
  return StridedLayout(input.dims, input.strides).extent() * size_of(stored_dtype(input));
}

}  // namespace evo
