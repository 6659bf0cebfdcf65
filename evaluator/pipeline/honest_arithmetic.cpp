#include "evaluator/pipeline/honest_arithmetic.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/stretches.h"
#include "engine/task/calibration.h"
#include "engine/task/candidate.h"
#include "engine/task/limits.h"
#include "evaluator/judge/comparison.h"

namespace evo {
namespace {

/// What a kernel may err by of what the other precision does: it adds in another order.
constexpr double kOfOtherOrders = 4;
/// Of whole numbers: that many times as many elements, and so many in any case.
constexpr double kElementTimes = 8, kFewInAnyCase = 2.5;
/// Below this part of the usual limit of f32 one promises more than plain sums.
constexpr double kPromise = 0.5;

bool is_cuda(const std::string& path) {
  return std::ranges::any_of(std::array{".cu", ".cuh", ".h", ".hpp", ".inl"},
                             [&](const char* end) { return path.ends_with(end); });
}

bool has_doubles(const Task& task, const Bindings& options) {
  const auto is_double = [&](const Tensor& tensor) { return dtype_of(tensor, options) == DType::f64; };
  return std::ranges::any_of(drawn_tensors(task), is_double) || std::ranges::any_of(task.outputs, is_double);
}

bool draws_floats(const Task& task, const Bindings& options) {
  return std::ranges::any_of(drawn_tensors(task), [&](const Tensor& tensor) {
    return is_floating(dtype_of(tensor, options)) || !tensor.scale.empty();
  });
}

/// Whether a task has a reference whose precision can be changed, and no emulation to judge by.
bool has_other_precisions(const PipelineOptions& options) {
  const Task& task = options.task;
  const Bindings& choices = options.target.options;
  return !has_torch_reference(task) && !load_calibration(options.tree, task) && !has_doubles(task, choices) &&
         draws_floats(task, choices);
}

/// The files of the task's folder changed: its reference may include any of them.
PipelineOptions with_changed_files(PipelineOptions options, std::string (*change)(const std::string&)) {
  const std::string folder = options.task.reference.substr(0, options.task.reference.find('/') + 1);
  for (auto& [path, text] : options.tree)
    if (path.starts_with(folder) && is_cuda(path)) text = change(text);
  return options;
}

bool is_longer_than_listed(const Task& task, const Shape& shape) {
  return std::ranges::any_of(shape.parameters, [&](const auto& parameter) {
    const auto* size = std::get_if<std::int64_t>(&parameter.second);
    return size != nullptr && std::ranges::all_of(task.shapes, [&](const Shape& listed) {
             const auto found = listed.parameters.find(parameter.first);
             const auto* there = found == listed.parameters.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
             return there != nullptr && *there < *size;
           });
  });
}

}  // namespace

std::string in_single_precision(const std::string& source) {
  static const std::regex kType(R"(\bdouble\b)");
  static const std::regex kLiteral(
      R"((\b\d+\.\d*(?:[eE][+-]?\d+)?|\B\.\d+(?:[eE][+-]?\d+)?|\b\d+[eE][+-]?\d+)(?![\w.]))");
  if (without_long_stretches(source) != source) return source;
  return std::regex_replace(std::regex_replace(source, kType, "float"), kLiteral, "$1f");
}

std::string in_double_precision(const std::string& source) {
  static const std::regex kVariables(R"(\bfloat(\s+[A-Za-z_]\w*\s*(?:=|;|\[\s*\w)))");
  return without_long_stretches(source) == source ? std::regex_replace(source, kVariables, "double$1") : source;
}

/// The reference in another precision.
struct HonestArithmetic::Other {
  Other(PipelineOptions changed, const CasePlan& plan)
      : options(std::move(changed)), oracles(std::in_place, options, plan, nullptr) {}

  /// Null: it does not compile, or fails.
  std::shared_ptr<const Expected> answer(const Case& one) {
    if (!oracles) return nullptr;
    try {
      return oracles->get(one);
    } catch (const Error& error) {
      if (error.fault() != Fault::usage) throw;
      oracles.reset();
      return nullptr;
    }
  }

  const PipelineOptions options;
  std::optional<ExtraOracles> oracles;
  bool tried = false;
};

HonestArithmetic::HonestArithmetic(const PipelineOptions& options, const CasePlan& plan, ExtraOracles& exact)
    : options_(options), plan_(plan), exact_(exact) {
  if (!has_other_precisions(options)) return;
  for (const auto change : {in_single_precision, in_double_precision}) {
    PipelineOptions changed = with_changed_files(options, change);
    if (changed.tree != options.tree) others_.push_back(std::make_unique<Other>(std::move(changed), plan));
  }
}

HonestArithmetic::~HonestArithmetic() = default;

/// One that does not is something else than the reference.
bool HonestArithmetic::keeps_limits_on_usual_inputs(Other& other) {
  const Case& usual = plan_.cases[plan_.timed.front().rotation.front()];
  const std::shared_ptr<const Expected> exact = exact_.get(usual), honest = other.answer(usual);
  if (!honest) return false;
  std::size_t number = 0;
  for (const Tensor& tensor : options_.task.outputs) {
    if (!is_present(tensor, options_.target.options)) continue;
    const ExpectedOutput& want = exact->at(number);
    Limits limits =
        limits_of_output(options_.task, tensor, options_.target.options, limits_of(options_.task, options_.target));
    if (limits.relative_l2 == 0) limits = usual_limits(want.dtype);
    const std::uint64_t row = row_of(options_.task, options_.target.options, usual.shape, number);
    const Difference difference = compare(want.dtype, honest->at(number).bytes, want, limits, row);
    ++number;
    if (is_floating(want.dtype) && (difference.not_finite > 0 || closeness(difference, limits) > 1)) return false;
  }
  return true;
}

bool HonestArithmetic::explains(const Case& one, const ComparedCase& compared) {
  return std::ranges::any_of(others_, [&](const std::unique_ptr<Other>& other) {
    if (!std::exchange(other->tried, true) && !keeps_limits_on_usual_inputs(*other)) other->oracles.reset();
    const std::shared_ptr<const Expected> honest = other->answer(one);
    return honest && explains(one, compared, *honest);
  });
}

bool HonestArithmetic::explains(const Case& one, const ComparedCase& compared, const Expected& honest) const {
  for (std::size_t i = 0; i < compared.outputs.size(); ++i) {
    const ComparedOutput& output = compared.outputs[i];
    if (miss_of(output.difference, output.limits) && !explains(one, output, compared.expected->at(i), honest.at(i), i))
      return false;
  }
  return true;
}

bool HonestArithmetic::explains(const Case& one, const ComparedOutput& output, const ExpectedOutput& exact,
                                const ExpectedOutput& honest, std::size_t number) const {
  const Difference& wrong = output.difference;
  const std::uint64_t row = row_of(options_.task, options_.target.options, one.shape, number);
  const Difference own = compare(exact.dtype, honest.bytes, exact, output.limits, row);
  const auto few = [](std::uint64_t of_kernel, std::uint64_t of_honest) {
    return static_cast<double>(of_kernel) <=
           kElementTimes * static_cast<double>(of_honest) + (of_honest > 0 ? kFewInAnyCase : 0);
  };
  if (!is_floating(output.got_dtype)) {
    if (output.limits.exact) return few(wrong.unequal, own.unequal);
    return few(wrong.further_off, own.further_off) && few(wrong.off_by_one, own.off_by_one);
  }
  if (wrong.not_finite > 0) return own.not_finite > 0;
  if (promises_more(one, number)) return false;
  if (own.relative_l2 > kHopelessError) return true;
  return !miss_of(wrong, widened(output.limits, 1 + kOfOtherOrders * closeness(own, output.limits)));
}

bool HonestArithmetic::promises_more(const Case& one, std::size_t output) const {
  const Task& task = options_.task;
  const Bindings& choices = options_.target.options;
  if (is_longer_than_listed(task, one.shape)) return false;
  std::size_t number = 0;
  for (const Tensor& tensor : task.outputs) {
    if (!is_present(tensor, choices) || number++ != output) continue;
    const double limit = limits_of_output(task, tensor, choices, limits_of(task, options_.target)).relative_l2;
    const DType dtype = dtype_of(tensor, choices);
    return dtype == DType::f32 && limit > 0 && limit < kPromise * usual_limits(dtype).relative_l2;
  }
  return false;
}

}  // namespace evo
