#include "cli/check/measured_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/check/null_answers.h"
#include "cli/sources/templates.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/short_form/json_layout.h"
#include "engine/task/floor.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

/// Limits of wider floats reject every null answer but that of an output that is the same for all inputs.
constexpr int kNarrow = 16;

bool takes_limits(const Task& task, const Tensor& output) {
  const DType dtype = dtype_of(output, task.default_options());
  return output.limits.empty() && output.scale.empty() && is_floating(dtype) && bits_of(dtype) <= kNarrow;
}

Target cheapest_target(const Task& task) {
  const DeviceKind& kind = kind_named(vgpu::kKind);
  const Bindings options = task.default_options();
  const Shape* cheapest = nullptr;
  for (const Shape& shape : task.shapes) {
    if (!is_legal(task, options, shape)) continue;
    if (cheapest == nullptr || work_of(task, options, shape, kind) < work_of(task, options, *cheapest, kind))
      cheapest = &shape;
  }
  if (cheapest == nullptr) throw usage_error("no shape is legal");
  Target target = make_target(task, vgpu::kKind, {cheapest->name}, {});
  target.validated = target.timed;
  return target;
}

}  // namespace

std::vector<std::string> tighten_limits(ShortForm& form) {
  const SourceTree tree = with_shipped(form.files);
  const Task task = load_task(tree, form.task);
  if (task.has_limits ||
      std::ranges::none_of(task.outputs, [&](const Tensor& output) { return takes_limits(task, output); }))
    return {};
  std::vector<NullAnswer> passing;
  try {
    passing = passing_null_answers(tree, task, cheapest_target(task), vgpu::model_info("h200"));
  } catch (const Error&) {
    return {};  // What is wrong with the reference is said where the search runs it.
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(form.files.at(form.task + "/task.json"));
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < task.outputs.size(); ++i) {
    for (const NullAnswer& null : passing) {
      if (null.output != task.outputs[i].name || !null.limit || !takes_limits(task, task.outputs[i])) continue;
      nlohmann::ordered_json& limit = json["outputs"][i]["limits"]["relative_l2"];
      if (limit.is_null() || *null.limit < limit.get<double>()) limit = *null.limit;
      lines.push_back(null_answer_text(null) + ", and is taken");
    }
  }
  if (!lines.empty()) form.files[form.task + "/task.json"] = laid_out(json);
  return lines;
}

}  // namespace evo::cli
