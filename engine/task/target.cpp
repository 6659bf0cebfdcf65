#include "engine/task/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "engine/task/scope.h"

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

/// Some of the device's grid of cases goes to each shape; one that takes all of it leaves nothing to the others.
bool is_too_large(const Task& task, const DeviceKind& kind, const Bindings& options, const Shape& shape) {
  return kind.on_host && work_of(task, options, shape, kind) > kind.held_out_work;
}

}  // namespace

const Limits& limits_of(const Task& task, const Target& target) {
  return task.objective(target.objective).limits;
}

Target make_target(const Task& task, std::string_view device_kind, const std::vector<std::string>& shapes,
                   const Bindings& options, std::string_view objective) {
  Target target;
  target.options = chosen_options(task, options);
  target.objective = objective.empty() ? task.objectives.front().name : task.objective_name(objective);
  const auto set = task.shape_sets.find(std::string(device_kind));
  std::vector<std::string> timed = shapes;
  if (timed.empty())
    timed = set == task.shape_sets.end() ? std::vector<std::string>{task.shapes.front().name} : set->second.timed;
  for (const std::string& text : timed) {
    Shape shape = parse_shape(task, text);
    if (!is_legal(task, target.options, shape))
      throw usage_error(
          fmt::format("shape {} does not meet '{}' of task {}", shape.name, task.legal.text(), task.name));
    add_once(target.timed, std::move(shape));
  }

  add_default_validation(task, device_kind, target);
  for (const Shape& shape : target.timed) add_once(target.validated, shape);
  return target;
}

Target make_self_test_target(const Task& task, std::string_view device_kind, const Bindings& options,
                             std::string_view objective) {
  const auto set = task.shape_sets.find(std::string(device_kind));
  const bool chosen = set != task.shape_sets.end();
  return make_target(task, device_kind, chosen ? set->second.self_test : std::vector<std::string>{}, options,
                     objective);
}

void add_default_validation(const Task& task, std::string_view device_kind, Target& target) {
  const auto set = task.shape_sets.find(std::string(device_kind));
  const bool has_set = set != task.shape_sets.end();
  std::vector<std::string> names;
  for (const Shape& shape : task.shapes) names.push_back(shape.name);
  if (has_set) names = set->second.validated;
  const std::vector<Bindings> specialisations = specialisations_of(task, target);
  for (const std::string& name : names) {
    const Shape& shape = task.shape(name);
    const auto skip = [&](const std::string& why) { target.skipped.push_back(fmt::format("{}: {}", name, why)); };
    if (!is_legal(task, target.options, shape)) {
      skip(fmt::format("does not meet '{}'", task.legal.text()));
    } else if (std::ranges::find(specialisations, specialisation_of(task, shape)) == specialisations.end()) {
      skip(fmt::format("no timed shape has its {}", list_of(task.specialised)));
    } else if (!has_set && is_too_large(task, kind_named(device_kind), target.options, shape)) {
      skip(fmt::format("too much work for {}; name it in sets.{}.validated to have it", kind_named(device_kind).title,
                       device_kind));
    } else {
      add_once(target.validated, shape);
    }
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

void keep_constraints_of(const Target& target, Family& family) {
  const auto meets = [&](const Constraint& constraint, const Shape& shape) {
    const Bindings known = joined(target.options, shape.parameters);
    return constraint.shapes.evaluate_bool(known);
  };
  std::erase_if(family.constraints, [&](const Constraint& constraint) {
    const std::vector<std::string>& objectives = constraint.objectives;
    if (!objectives.empty() && std::ranges::find(objectives, limiting_objective(target.objective)) == objectives.end())
      return true;
    const auto meant = [&](const Shape& shape) { return meets(constraint, shape); };
    return std::ranges::none_of(target.timed, meant) && std::ranges::none_of(target.validated, meant);
  });
}

}  // namespace evo
