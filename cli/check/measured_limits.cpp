#include "cli/check/measured_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/check/null_answers.h"
#include "cli/check/tried_reference.h"
#include "cli/check/usual_cases.h"
#include "cli/sources/templates.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "engine/short_form/json_layout.h"
#include "engine/task/calibration.h"
#include "engine/task/floor.h"
#include "engine/task/limits.h"
#include "evaluator/hosts/compile_worker.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/vgpu/virtual_device.h"

namespace evo::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Limits of wider floats reject every null answer but that of an output that is the same for all inputs.
constexpr int kNarrow = 16;
/// Another order of sums and another formula err up to so many times as far: rotary embeddings whose powers are 2^(x lb
/// y) by 1.6 times as far as those of powf.
constexpr double kHonestTimes = 1.9;
/// What a warp of the reference in single precision may run.
constexpr std::uint64_t kMostOfEmulation = 60'000'000;

/// What an answer in single precision may err by where the reference's, rounded to the dtype, hardly does: roundings
/// that fall the other way, of one element in ten thousand.
double least_error(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4e-6;
    case DType::f16:
      return 2e-5;
    case DType::bf16:
      return 5e-5;
    default:
      return 1e-3;
  }
}

bool is_measured(const Task& task, const Tensor& output) {
  const DType dtype = dtype_of(output, task.default_options());
  return !task.has_limits && output.limits.empty() && output.scale.empty() && is_floating(dtype) && dtype != DType::f64;
}

bool rejects_null_answers(const Task& task, const Tensor& output) {
  return is_measured(task, output) && bits_of(dtype_of(output, task.default_options())) <= kNarrow;
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

struct Range {
  double least = 0, most = 0;
};

/// TASK/limits.json of the outputs that are measured.
Json limits_json(const Task& task, std::string_view arithmetic) {
  Json json = {{"emulation", {{"about", "the reference in single precision"}, {"arithmetic", arithmetic}}}};
  for (const Tensor& output : task.outputs)
    if (is_measured(task, output))
      json["average"][output.name] = {{"times", kHonestTimes},
                                      {"plus", least_error(dtype_of(output, task.default_options()))}};
  return json;
}

/// What an emulation of the reference errs by, by output: the least and the most of all regimes. Throws usage_error
/// where one of the two fails.
std::map<std::string, Range> errors_of(const SourceTree& tree, const Task& task, const Target& target) {
  const DeviceInfo device = vgpu::model_info("h200");
  const Bindings specialisation = specialisations_of(task, target).front();
  CompileWorker compiler(device);
  const auto tried = [&](const SourceTree& of) {
    return TriedReference(reference_program(of, task, target.options, specialisation, {target.timed.front()}), task,
                          target.options, device, compiler, kMostOfEmulation);
  };
  TriedReference reference = tried(tree);
  TriedReference emulation = tried(edited(tree, load_calibration(tree, task).value().emulation));
  std::map<std::string, Range> errors;
  for (const Case& one : cases_of_regimes(task, target)) {
    const Expected right = reference.answer(one), honest = emulation.answer(one);
    std::size_t number = 0;
    for (const Tensor& output : task.outputs) {
      if (!is_present(output, target.options)) continue;
      const ExpectedOutput& want = right.at(number);
      const Difference difference = compare(want.dtype, honest.at(number++).bytes, want, {}, 0);
      if (difference.not_finite > 0 || difference.want_rms == 0) continue;
      const auto [range, is_new] =
          errors.try_emplace(output.name, Range{difference.relative_l2, difference.relative_l2});
      if (is_new) continue;
      range->second.least = std::min(range->second.least, difference.relative_l2);
      range->second.most = std::max(range->second.most, difference.relative_l2);
    }
  }
  return errors;
}

/// Adds limits.json to the form. Empty where the reference does not compute in single precision.
std::optional<std::map<std::string, Range>> calibrate(ShortForm& form, const Task& task, const Target& target) {
  const std::string file = form.task + "/limits.json";
  for (const char* arithmetic : {kSinglePrecision, kPlainSinglePrecision}) {
    form.files[file] = laid_out(limits_json(task, arithmetic));
    try {
      return errors_of(with_shipped(form.files), task, target);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
    }
  }
  form.files.erase(file);
  return std::nullopt;
}

/// The relative_l2 of each output that rejects its null answers, with the lines that say so.
std::map<std::string, std::pair<double, std::string>> against_null_answers(const ShortForm& form, const Task& task,
                                                                           const Target& target) {
  std::map<std::string, std::pair<double, std::string>> limits;
  for (const NullAnswer& null :
       passing_null_answers(with_shipped(form.files), task, target, vgpu::model_info("h200"))) {
    const Tensor* output = task.tensor(null.output);
    if (!null.limit || output == nullptr || !rejects_null_answers(task, *output)) continue;
    const auto [found, is_new] = limits.try_emplace(null.output, *null.limit, null_answer_text(null));
    if (!is_new && *null.limit < found->second.first) found->second = {*null.limit, null_answer_text(null)};
  }
  return limits;
}

std::string given_text(const Limits& limits) {
  if (limits.exact) return "exact";
  std::string text;
  const auto add = [&](const char* name, double limit) {
    if (limit > 0) text += fmt::format("{}{} {:g}", text.empty() ? "" : ", ", name, limit);
  };
  add("relative_l2", limits.relative_l2);
  add("cosine", limits.cosine);
  add("max_abs", limits.max_abs);
  add("atol", limits.atol);
  add("rtol", limits.rtol);
  add("off_by_one", limits.off_by_one);
  return text;
}

std::string dtype_text(const Task& task, const Tensor& output) {
  const DType dtype = dtype_of(output, task.default_options());
  const Limits limits = limits_of_output(task, output, task.default_options(), task.limits);
  return fmt::format("{}, usual for {}", given_text(limits), name_of(dtype));
}

}  // namespace

std::vector<LimitSource> take_measured_limits(ShortForm& form) {
  const Task task = load_task(with_shipped(form.files), form.task);
  std::map<std::string, Range> honest;
  std::map<std::string, std::pair<double, std::string>> narrower;
  std::string why_usual;
  const bool any = std::ranges::any_of(task.outputs, [&](const Tensor& output) { return is_measured(task, output); });
  if (any && !has_torch_reference(task)) {
    try {
      const Target target = cheapest_target(task);
      narrower = against_null_answers(form, task, target);
      if (auto errors = calibrate(form, task, target)) honest = *std::move(errors);
    } catch (const Error&) {
      // What is wrong with the reference is said where the search runs it.
    }
  }
  if (!narrower.empty()) {
    Json json = Json::parse(form.files.at(form.task + "/task.json"));
    for (std::size_t i = 0; i < task.outputs.size(); ++i)
      if (const auto found = narrower.find(task.outputs[i].name); found != narrower.end())
        json["outputs"][i]["limits"]["relative_l2"] = found->second.first;
    form.files[form.task + "/task.json"] = laid_out(json);
  }
  std::vector<LimitSource> sources;
  for (const Tensor& output : task.outputs) {
    const bool own = task.has_limits || !output.limits.empty();
    LimitSource source{output.name, ""};
    if (const auto null = narrower.find(output.name); null != narrower.end())
      source.text = null->second.second + ", and is taken";
    else if (own)
      source.text =
          given_text(output.limits.empty() ? limits_of_output(task, output, task.default_options(), task.limits)
                                           : output.limits.front().limits) +
          ", of the file";
    else
      source.text = dtype_text(task, output);
    if (const auto measured = honest.find(output.name); measured != honest.end() && is_measured(task, output))
      source.text += fmt::format(
          "; over all draws {:g} times what single precision errs by on the same inputs (at the cheapest shape {:.2g} "
          "to "
          "{:.2g}), or {:g}",
          kHonestTimes, measured->second.least, measured->second.most,
          least_error(dtype_of(output, task.default_options())));
    else if (is_measured(task, output))
      source.text += "; the reference was not tried in single precision";
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace evo::cli
