#include "engine/attack/attacked_shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <variant>

#include "engine/base/error.h"
#include "engine/task/floor.h"

namespace evo {
namespace {

/// Of a shape that the task does not list, beside those that it does.
constexpr double kUnlisted = 0.1;
/// Sums are long in shapes that have at least this part of the longest, and are tried as much less often.
constexpr double kLong = 0.2;

/// How often a shape is tried, whose case is so many times the work of the smallest listed one. Small ones oftener:
/// time is short. A GPU is not busy with them.
double weight_of(double work, const DeviceKind& kind) {
  return 1 / std::pow(std::max(1.0, work), kind.on_host ? 1 : 0.5);
}

std::set<std::string> names_in(const std::vector<Expression>& dims) {
  std::set<std::string> names;
  for (const Expression& dim : dims)
    for (const std::string& name : dim.names()) names.insert(name);
  return names;
}

/// The parameters along which kernels add; see the header.
std::set<std::string> summed_parameters(const Task& task) {
  std::set<std::string> of_outputs, of_inputs, of_rows, all;
  for (const Tensor& output : task.outputs) of_outputs.merge(names_in(output.dims));
  for (const Tensor& input : task.inputs) {
    of_inputs.merge(names_in(input.dims));
    if (!input.dims.empty()) of_rows.merge(names_in({input.dims.back()}));
  }
  std::set<std::string> summed, along_rows;
  for (const std::string& parameter : task.shape_parameters) {
    if (task.is_specialised(parameter)) continue;
    all.insert(parameter);
    if (of_rows.contains(parameter)) along_rows.insert(parameter);
    if (of_inputs.contains(parameter) && !of_outputs.contains(parameter)) summed.insert(parameter);
  }
  return !summed.empty() ? summed : !along_rows.empty() ? along_rows : all;
}

double length_of_sums(const std::set<std::string>& summed, const Shape& shape) {
  std::int64_t longest = 1;
  for (const std::string& parameter : summed)
    if (const auto found = shape.parameters.find(parameter); found != shape.parameters.end())
      if (const auto* size = std::get_if<std::int64_t>(&found->second)) longest = std::max(longest, *size);
  return static_cast<double>(longest);
}

bool is_among(const std::vector<Shape>& shapes, const Shape& shape) {
  return std::ranges::find(shapes, shape.name, &Shape::name) != shapes.end();
}

}  // namespace

AttackedShapes attacked_shapes(const Task& task, const Target& target, const Candidate& candidate,
                               const DeviceKind& kind) {
  AttackedShapes attacked;
  const auto work_at = [&](const Shape& shape) { return work_of(task, target.options, shape, kind); };
  double least = 1e300;
  for (const std::vector<Shape>* some : {&target.timed, &target.validated})
    for (const Shape& shape : *some) {
      const double work = work_at(shape);
      if (!program_for(candidate, shape.name) || is_among(attacked.shapes, shape) ||
          (work > kind.held_out_work && !attacked.shapes.empty()))
        continue;
      attacked.shapes.push_back(shape);
      if (is_among(task.shapes, shape)) least = std::min(least, work);
    }
  if (attacked.shapes.empty()) throw usage_error("the kernel has none of the shapes");
  const std::set<std::string> summed = summed_parameters(task);
  double longest = 1;
  for (const Shape& shape : attacked.shapes) longest = std::max(longest, length_of_sums(summed, shape));
  for (const Shape& shape : attacked.shapes) {
    const double work = work_at(shape);
    attacked.weights.push_back(weight_of(work / std::max(least, 1.0), kind) *
                               (is_among(task.shapes, shape) ? 1 : kUnlisted));
    const double length = length_of_sums(summed, shape) / longest;
    attacked.long_sums.push_back(length == 1 ? 1 : length >= kLong ? kLong : 0);
  }
  return attacked;
}

}  // namespace evo
