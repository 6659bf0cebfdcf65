#include "engine/task/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/expression/json_place.h"

namespace evo {
namespace {

std::int64_t parse_parameter(std::string_view text, std::string_view number) {
  std::int64_t value = 0;
  for (const char c : number) {
    if (c < '0' || c > '9' || value > kMaxParameter) value = -1;
    if (value < 0) break;
    value = value * 10 + (c - '0');
  }
  if (value < 1 || value > kMaxParameter) {
    throw usage_error(fmt::format("shape '{}': '{}' is not a positive number of 31 bits", text, number));
  }
  return value;
}

// "1,8,512,64" by position or "B=1,H=8,S=512,D=64" by name.
Bindings parse_parameters(const Task& task, std::string_view text) {
  const std::vector<std::string> parts = split(text, ',');
  const std::string form = fmt::format("expected {} or a shape of the task: {}", fmt::join(task.shape_parameters, ","),
                                       list_of(names_of(task.shapes)));
  Bindings parameters;
  if (parts.size() != task.shape_parameters.size()) throw usage_error(fmt::format("shape '{}': {}", text, form));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    const std::string name =
        equals == std::string::npos ? task.shape_parameters[i] : std::string(trim(parts[i].substr(0, equals)));
    const bool known =
        std::find(task.shape_parameters.begin(), task.shape_parameters.end(), name) != task.shape_parameters.end();
    const std::string number(trim(equals == std::string::npos ? parts[i] : parts[i].substr(equals + 1)));
    if (!known || !parameters.emplace(name, parse_parameter(text, number)).second) {
      throw usage_error(fmt::format("shape '{}': {}", text, form));
    }
  }
  return parameters;
}

/// "fast" and "faithful" of "fast@faithful"; of one name that and nothing.
std::pair<std::string_view, std::string_view> parts_of(std::string_view objective) {
  const std::size_t at = std::min(objective.find('@'), objective.size());
  return {objective.substr(0, at), objective.substr(std::min(at + 1, objective.size()))};
}

}  // namespace

std::string_view limiting_objective(std::string_view objective) {
  return parts_of(objective).first;
}

const Shape& Task::shape(std::string_view wanted) const {
  for (const Shape& shape : shapes) {
    if (shape.name == wanted) return shape;
  }
  throw usage_error(fmt::format("task {} has no shape '{}'; there are {}", name, wanted, list_of(names_of(shapes))));
}

std::vector<Regime> Task::regimes_of(std::string_view objective) const {
  std::vector<Regime> drawn;
  const auto [first, second] = parts_of(objective);
  std::ranges::copy_if(regimes, std::back_inserter(drawn), [&](const Regime& regime) {
    return regime.objectives.empty() ||
           std::ranges::any_of(regime.objectives, [&](const auto& name) { return name == first || name == second; });
  });
  return drawn;
}

const Objective& Task::objective(std::string_view wanted) const {
  const auto named = [this](std::string_view one) -> const Objective& {
    for (const Objective& objective : objectives)
      if (objective.name == one || (!objective.formerly.empty() && objective.formerly == one)) return objective;
    throw usage_error(
        fmt::format("task {} has no objective '{}'; there are {}", name, one, list_of(names_of(objectives))));
  };
  const auto [first, second] = parts_of(wanted);
  if (first != wanted) named(second);
  return named(first);
}

std::string Task::objective_name(std::string_view wanted) const {
  const auto [first, second] = parts_of(wanted);
  return objective(first).name + (first == wanted ? "" : "@" + objective(second).name);
}

const Tensor* Task::tensor(std::string_view wanted) const {
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (tensor.name == wanted) return &tensor;
    }
  }
  return nullptr;
}

Bindings Task::default_options() const {
  Bindings defaults;
  for (const Option& option : options) defaults[option.name] = option.values.front();
  return defaults;
}

bool Task::is_specialised(std::string_view parameter) const {
  return std::ranges::find(specialised, parameter) != specialised.end();
}

bool is_mutant_file(std::string_view path, std::string_view task) {
  return path.starts_with(task) && path.substr(task.size()).starts_with("/mutants/");
}

bool is_hashed(std::string_view path, std::string_view task) {
  const std::string folder = std::string(task) + "/";
  return path.starts_with(folder) && !is_mutant_file(path, task) && !path.starts_with(folder + "stages.") &&
         path != folder + "cautions.json" && path != torch_reference_path(task);
}

std::string torch_reference_path(std::string_view task) {
  return std::string(task) + "/reference.py";
}

bool has_torch_reference(const Task& task) {
  return task.reference == torch_reference_path(task.name);
}

std::vector<std::string> cautions(const SourceTree& tree, std::string_view task, std::string_view objective) {
  const std::string file = std::string(task) + "/cautions.json";
  if (!tree.contains(file)) return {};
  std::vector<std::string> sentences;
  if (const auto place = JsonPlace::read(tree, file).find(limiting_objective(objective))) {
    for (const JsonPlace& sentence : place->items()) sentences.push_back(sentence.text());
  }
  return sentences;
}

std::set<std::string> borrowed_files(const SourceTree& tree, std::string_view task) {
  const std::string folder = std::string(task) + "/";
  const auto is_code = [](std::string_view path) {
    return path.starts_with("include/") || path.ends_with(".cu") || path.ends_with(".cuh");
  };
  std::set<std::string> borrowed;
  std::vector<const std::string*> unread;
  for (const auto& [path, content] : tree)
    if (is_hashed(path, task)) unread.push_back(&content);
  while (!unread.empty()) {
    const std::string& content = *unread.back();
    unread.pop_back();
    for (const auto& [path, named] : tree) {
      if (path.starts_with(folder) || !is_code(path) || content.find(path) == std::string::npos) continue;
      if (borrowed.insert(path).second) unread.push_back(&named);
    }
  }
  return borrowed;
}

std::vector<std::string> task_names(const SourceTree& tree) {
  std::vector<std::string> names;
  for (const auto& [path, content] : tree) {
    const std::vector<std::string> parts = split(path, '/');
    if (parts.size() == 2 && parts[1] == "task.json") names.push_back(parts[0]);
  }
  return names;
}

Shape parse_shape(const Task& task, std::string_view text) {
  for (const Shape& shape : task.shapes) {
    if (shape.name == text) return shape;
  }
  Bindings parameters = parse_parameters(task, text);
  for (const Shape& shape : task.shapes) {
    if (shape.parameters == parameters) return shape;
  }
  std::string name;
  for (const std::string& parameter : task.shape_parameters) {
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", parameter, expr::to_string(parameters.at(parameter)));
  }
  return Shape{name, std::move(parameters)};
}

DType dtype_of(const Tensor& tensor, const Bindings& options) {
  const auto option = options.find(tensor.dtype);
  return parse_dtype(option == options.end() ? tensor.dtype : expr::to_string(option->second));
}

std::vector<Tensor> drawn_tensors(const Task& task) {
  std::vector<Tensor> drawn = task.inputs;
  std::ranges::copy_if(task.outputs, std::back_inserter(drawn), &Tensor::inout);
  return drawn;
}

bool draws_whole_numbers(const Tensor& tensor, DType dtype) {
  switch (tensor.draw.kind) {
    case DrawKind::integers:
    case DrawKind::indices:
    case DrawKind::permutation:
    case DrawKind::offsets:
    case DrawKind::page_table:
      return true;
    default:
      return is_integer(dtype) && tensor.scale.empty();
  }
}

bool is_present(const Tensor& tensor, const Bindings& options) {
  return tensor.when.evaluate_bool(options);
}

bool is_legal(const Task& task, const Bindings& options, const Shape& shape) {
  Bindings known = options;
  known.insert(shape.parameters.begin(), shape.parameters.end());
  return task.legal.evaluate_bool(known);
}

std::vector<std::int64_t> strides_of(const Tensor& tensor, const Bindings& known) {
  const std::vector<std::int64_t> dims = dims_of(tensor, known);
  std::vector<std::int64_t> strides(dims.size(), 1);
  if (tensor.strides.empty()) {
    for (std::size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
    return strides;
  }
  std::int64_t needed = 1;
  for (std::size_t i = dims.size(); i > 0; --i) {
    strides[i - 1] = tensor.strides[i - 1].evaluate_int(known);
    if (strides[i - 1] < needed) {
      throw usage_error(fmt::format("tensor '{}': stride '{}' is {}: the dims after it take {}", tensor.name,
                                    tensor.strides[i - 1].text(), strides[i - 1], needed));
    }
    if (__builtin_mul_overflow(strides[i - 1], dims[i - 1], &needed))
      throw usage_error(fmt::format("tensor '{}' has more elements than 64 bits can count", tensor.name));
  }
  return strides;
}

std::int64_t extent_of(const Tensor& tensor, const Bindings& known) {
  if (tensor.strides.empty()) return element_count(tensor, known);
  const std::vector<std::int64_t> dims = dims_of(tensor, known), strides = strides_of(tensor, known);
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return last + 1;
}

std::vector<std::int64_t> dims_of(const Tensor& tensor, const Bindings& known) {
  std::vector<std::int64_t> dims;
  for (const Expression& dim : tensor.dims) {
    dims.push_back(dim.evaluate_int(known));
    if (dims.back() < 1) {
      throw usage_error(fmt::format("tensor '{}': dimension '{}' is {}", tensor.name, dim.text(), dims.back()));
    }
  }
  return dims;
}

std::int64_t element_count(const Tensor& tensor, const Bindings& known) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims_of(tensor, known)) {
    if (__builtin_mul_overflow(count, dim, &count)) {
      throw usage_error(fmt::format("tensor '{}' has more elements than 64 bits can count", tensor.name));
    }
  }
  return count;
}

}  // namespace evo
