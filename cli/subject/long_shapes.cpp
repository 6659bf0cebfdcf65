#include "cli/subject/long_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "engine/device/device_kind.h"
#include "engine/task/floor.h"

namespace evo::cli {
namespace {

constexpr std::int64_t kLongest = 1 << 17;
/// Of the longest. Sums are long there, too, and a try takes less time.
constexpr std::int64_t kPart = 4;

/// Some rows beside each other tell more than one does. That may be longer: tried where cases are cheap.
constexpr std::array<std::int64_t, 2> kFew = {8, 1};

/// Parameters are few where they may be; the others are those of `base`.
Shape least_shape(const Task& task, const Target& target, const Shape& base, std::int64_t few) {
  Shape least = base;
  for (auto& [parameter, value] : least.parameters) {
    if (task.is_specialised(parameter)) continue;
    const Value given = value;
    value = std::min(std::get<std::int64_t>(value), few);
    if (!is_legal(task, target.options, least)) value = given;
  }
  return least;
}

struct LongShape {
  Shape shape;
  std::int64_t length = 0;
};

/// The longest, with as many of the others as that allows. Length 0: there is none.
LongShape longest_in(const std::string& parameter, const Task& task, const Target& target, const Shape& base,
                     const DeviceKind& kind, double most_work) {
  LongShape longest;
  for (const std::int64_t few : kFew) {
    if (few < kFew.front() && kind.on_host) break;
    Shape shape = least_shape(task, target, base, few);
    for (std::int64_t length = 2; length <= kLongest; length *= 2) {
      shape.parameters[parameter] = length;
      if (!is_legal(task, target.options, shape)) continue;
      if (work_of(task, target.options, shape, kind) > most_work) break;
      if (length > longest.length) longest = {shape, length};
    }
  }
  return longest;
}

}  // namespace

std::vector<Shape> long_shapes(const Task& task, const Target& target, std::string_view device_kind, double most_work) {
  const DeviceKind& kind = kind_named(device_kind);
  std::vector<Shape> shapes;
  for (const Bindings& specialisation : specialisations_of(task, target)) {
    const Shape base = shapes_of(task, target, specialisation).front();
    for (const std::string& parameter : task.shape_parameters) {
      if (task.is_specialised(parameter)) continue;
      LongShape longest = longest_in(parameter, task, target, base, kind, most_work);
      if (longest.length == 0) continue;
      const auto add = [&](Shape shape) {
        shape.name = fmt::format("long_{}_{}", parameter, shapes.size() + 1);
        shapes.push_back(std::move(shape));
      };
      Shape odd = longest.shape;
      odd.parameters[parameter] = longest.length / kPart + 1;
      add(std::move(longest.shape));
      if (is_legal(task, target.options, odd)) add(std::move(odd));
    }
  }
  return shapes;
}

}  // namespace evo::cli
