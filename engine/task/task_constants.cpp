#include <fmt/format.h>

#include <algorithm>

#include "engine/expression/json_place.h"
#include "engine/expression/name_scope.h"
#include "engine/task/task.h"

namespace evo {
namespace {

void require_source(const JsonPlace& place, const Task& task, const Tensor& tensor) {
  const bool input = std::ranges::find(task.inputs, tensor.name, &Tensor::name) != task.inputs.end();
  if (!input) place.fail(fmt::format("'{}' is an output: a variable is filled with an input or a value", tensor.name));
  if (!tensor.strides.empty())
    place.fail(fmt::format("'{}' has strides: a variable is filled with a dense input", tensor.name));
}

ConstantSpec read_constant(const std::string& symbol, const JsonPlace& place, const Task& task,
                           const NameScope& scope) {
  if (!is_variable_name(symbol)) place.fail(fmt::format("'{}' is not the name of a variable", symbol));
  if (place.is_object()) place.allow_only({"value", "when"});
  const JsonPlace value = place.is_object() ? place.at("value") : place;
  ConstantSpec constant{symbol, value.read_as(parse_argument), Expression::constant(true)};
  if (place.is_object()) constant.when = scope.read(place, "when", true);
  if (const Tensor* tensor = task.tensor(constant.value.text)) {
    require_source(value, task, *tensor);
    return constant;
  }
  for (const FieldSpec& field : constant.value.fields)
    for (const Expression& component : field.components) scope.check(value, component);
  return constant;
}

}  // namespace

std::vector<ConstantSpec> read_constants(const JsonPlace& object, const Task& task, const NameScope& scope) {
  std::vector<ConstantSpec> constants;
  const auto all = object.find("constants");
  if (!all) return constants;
  for (const auto& [symbol, place] : all->members()) constants.push_back(read_constant(symbol, place, task, scope));
  return constants;
}

}  // namespace evo
