#include "engine/task/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {
namespace {

Bindings specialisation_of(const Task& task, const Shape& shape) {
  Bindings values;
  for (const std::string& parameter : task.specialised) values[parameter] = shape.parameters.at(parameter);
  return values;
}

Bindings chosen_options(const Task& task, const Bindings& wanted) {
  Bindings options = task.default_options();
  for (const auto& [name, value] : wanted) {
    const auto option =
        std::find_if(task.options.begin(), task.options.end(), [&](const Option& o) { return o.name == name; });
    std::vector<std::string> known;
    if (option == task.options.end()) {
      for (const auto& [other, ignored] : options) known.push_back(other);
      throw usage_error(fmt::format("task {} has no option '{}'; there are {}", task.name, name, list_of(known)));
    }
    if (std::find(option->values.begin(), option->values.end(), value) == option->values.end()) {
      for (const Value& allowed : option->values) known.push_back(expr::to_string(allowed));
      throw usage_error(
          fmt::format("option {} cannot be '{}'; there are {}", name, expr::to_string(value), list_of(known)));
    }
    options[name] = value;
  }
  return options;
}

void add_once(std::vector<Shape>& shapes, Shape shape) {
  const auto same = [&](const Shape& other) { return other.name == shape.name; };
  if (std::none_of(shapes.begin(), shapes.end(), same)) shapes.push_back(std::move(shape));
}

}  // namespace

const Limits& limits_of(const Task& task, const Target& target) {
  return task.objective(target.objective).limits;
}

Target make_target(const Task& task, std::string_view device_kind, const std::vector<std::string>& shapes,
                   const Bindings& options, std::string_view objective) {
  Target target;
  target.options = chosen_options(task, options);
  target.objective = objective.empty() ? task.objectives.front().name : task.objective(objective).name;
  const auto set = task.shape_sets.find(std::string(device_kind));
  const bool has_set = set != task.shape_sets.end();
  if (shapes.empty() && !has_set) {
    throw usage_error(
        fmt::format("task {} has no shapes for {} devices; name some of its shapes", task.name, device_kind));
  }
  for (const std::string& text : shapes.empty() ? set->second.timed : shapes)
    add_once(target.timed, parse_shape(task, text));

  add_default_validation(task, device_kind, target);
  for (const Shape& shape : target.timed) add_once(target.validated, shape);
  return target;
}

void add_default_validation(const Task& task, std::string_view device_kind, Target& target) {
  const auto set = task.shape_sets.find(std::string(device_kind));
  if (set == task.shape_sets.end()) return;
  const std::vector<Bindings> specialisations = specialisations_of(task, target);
  for (const std::string& name : set->second.validated) {
    const Shape& shape = task.shape(name);
    const bool wanted = std::ranges::find(specialisations, specialisation_of(task, shape)) != specialisations.end();
    if (wanted) add_once(target.validated, shape);
  }
}

std::vector<Bindings> specialisations_of(const Task& task, const Target& target) {
  std::vector<Bindings> distinct;
  for (const Shape& shape : target.timed) {
    Bindings values = specialisation_of(task, shape);
    if (std::find(distinct.begin(), distinct.end(), values) == distinct.end()) distinct.push_back(std::move(values));
  }
  return distinct;
}

std::vector<Shape> shapes_of(const Task& task, const Target& target, const Bindings& specialisation) {
  std::vector<Shape> shapes;
  for (const auto* list : {&target.timed, &target.validated}) {
    for (const Shape& shape : *list) {
      if (specialisation_of(task, shape) == specialisation) add_once(shapes, shape);
    }
  }
  return shapes;
}

}  // namespace evo
