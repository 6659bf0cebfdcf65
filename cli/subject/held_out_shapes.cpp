#include "cli/subject/held_out_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/rng.h"
#include "engine/device/device_kind.h"
#include "engine/task/floor.h"
#include "evaluator/judge/cases.h"

namespace evo::cli {
namespace {

constexpr int kShapesEach = 2;
constexpr int kAttempts = 200;

bool is_known(const Task& task, const Target& target, const Shape& shape) {
  const auto same = [&](const Shape& known) { return known.parameters == shape.parameters; };
  return std::ranges::any_of(task.shapes, same) || std::ranges::any_of(target.timed, same) ||
         std::ranges::any_of(target.validated, same);
}

/// A shape with the specialised parameters of `base`; the others are up to twice as large.
Shape vary(const Task& task, const Shape& base, Rng& rng) {
  Shape shape = base;
  for (auto& [name, value] : shape.parameters) {
    if (task.is_specialised(name)) continue;
    const auto largest = static_cast<std::uint64_t>(std::get<std::int64_t>(value)) * 2;
    value = static_cast<std::int64_t>(1 + rng.below(largest));
  }
  return shape;
}

}  // namespace

std::vector<Shape> held_out_shapes(const Task& task, const Target& target, std::string_view device_kind,
                                   std::uint64_t salt) {
  const DeviceKind& kind = kind_named(device_kind);
  Rng rng(salt);
  std::vector<Shape> shapes;
  for (const Bindings& specialisation : specialisations_of(task, target)) {
    std::vector<Shape> bases;
    for (const std::vector<Shape>* listed : {&target.timed, &target.validated}) {
      std::ranges::copy_if(*listed, std::back_inserter(bases), [&](const Shape& shape) {
        return std::ranges::all_of(specialisation, [&](const auto& constant) {
          return shape.parameters.at(constant.first) == constant.second;
        });
      });
    }
    int found = 0;
    for (int attempt = 0; attempt < kAttempts && found < kShapesEach && !bases.empty(); ++attempt) {
      Shape shape = vary(task, bases[rng.below(bases.size())], rng);
      if (!is_legal(task, target.options, shape) || is_known(task, target, shape) ||
          work_of(task, target.options, shape, kind) > kind.held_out_work)
        continue;
      shape.name = fmt::format("held_out_{}", shapes.size() + 1);
      shapes.push_back(std::move(shape));
      ++found;
    }
  }
  return shapes;
}

}  // namespace evo::cli
