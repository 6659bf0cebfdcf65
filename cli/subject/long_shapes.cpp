#include "cli/subject/long_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "engine/device/device_kind.h"
#include "engine/task/floor.h"

namespace evo::cli {
namespace {

constexpr std::int64_t kLongest = 1 << 17;
/// Of the longest. Sums are long there, too, and a try takes less time.
constexpr std::int64_t kPart = 4;

/// Some rows beside each other tell more than one does.
constexpr std::int64_t kFew = 8;

/// Parameters are few where they may be; the others are those of `base`.
Shape least_shape(const Task& task, const Target& target, const Shape& base) {
  Shape least = base;
  for (auto& [parameter, value] : least.parameters) {
    if (task.is_specialised(parameter)) continue;
    const Value given = value;
    value = std::min(std::get<std::int64_t>(value), kFew);
    if (!is_legal(task, target.options, least)) value = given;
  }
  return least;
}

}  // namespace

std::vector<Shape> long_shapes(const Task& task, const Target& target, std::string_view device_kind, double most_work) {
  const DeviceKind& kind = kind_named(device_kind);
  std::vector<Shape> shapes;
  for (const Bindings& specialisation : specialisations_of(task, target)) {
    const Shape least = least_shape(task, target, shapes_of(task, target, specialisation).front());
    for (const std::string& parameter : task.shape_parameters) {
      if (task.is_specialised(parameter)) continue;
      std::optional<Shape> longest;
      for (std::int64_t length = 2; length <= kLongest; length *= 2) {
        Shape shape = least;
        shape.parameters[parameter] = length;
        if (!is_legal(task, target.options, shape)) continue;
        if (work_of(task, target.options, shape, kind) > most_work) break;
        longest = shape;
      }
      if (!longest) continue;
      const auto add = [&](Shape shape) {
        shape.name = fmt::format("long_{}_{}", parameter, shapes.size() + 1);
        shapes.push_back(std::move(shape));
      };
      Shape odd = *longest;
      odd.parameters[parameter] = std::get<std::int64_t>(longest->parameters.at(parameter)) / kPart + 1;
      add(*std::move(longest));
      if (is_legal(task, target.options, odd)) add(std::move(odd));
    }
  }
  return shapes;
}

}  // namespace evo::cli
