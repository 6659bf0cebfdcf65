#include "evaluator/judge/outside_answers.h"

#include <algorithm>
#include <utility>

#include "engine/device/device_kind.h"
#include "engine/task/limits.h"
#include "engine/task/scope.h"
#include "engine/task/target.h"
#include "evaluator/judge/output_comparison.h"

namespace evo {
namespace {

PipelineOptions with_deadline(PipelineOptions options) {
  if (options.run_deadline_s <= 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
  return options;
}

}  // namespace

Plan outputs_plan(const Task& task, const Bindings& options, const Shape& shape) {
  const Bindings known = joined(options, shape.parameters);
  Plan plan;
  for (const Tensor& output : task.outputs) {
    if (!is_present(output, options)) continue;
    PlanTensor& tensor = plan.tensors.emplace_back();
    tensor.name = output.name;
    tensor.dtype = dtype_of(output, options);
    tensor.bytes = bytes_for(tensor.dtype, static_cast<std::uint64_t>(element_count(output, known)));
    tensor.output = true;
    tensor.inout = output.inout;
  }
  return plan;
}

OutsideAnswers::OutsideAnswers(PipelineOptions options)
    : options_(with_deadline(std::move(options))),
      calibration_(load_calibration(options_.tree, options_.task)),
      plan_(plan_cases(options_.task, options_.target, options_.device.kind, options_.salt)),
      oracles_(options_, plan_, nullptr),
      ordinary_(plan_.cases.size(), [this](std::size_t number) { return oracles_.get(plan_.cases[number]); }),
      floor_(options_, calibration_, plan_, ordinary_, nullptr) {}

OutsideAnswer OutsideAnswers::judge(const Case& one, const Plan& plan, std::span<const std::byte> outputs) {
  const Task& task = options_.task;
  const Bindings& choices = options_.target.options;
  const std::shared_ptr<const Expected> expected = oracles_.get(one);
  const Limits of_regime = limits_for(calibration_, task, limits_of(task, options_.target), one.regime.name);
  std::size_t number = 0;
  const auto limits_of_one = [&](const Tensor& output) {
    Limits limits = limits_of_output(task, output, choices, of_regime);
    const std::size_t mine = number++;
    const std::size_t ordinary = ordinary_case(task, options_.target, plan_, one);
    const Case& usual = plan_.cases[ordinary];
    if (limits.atol > 0 && usual.shape.name == one.shape.name && usual.regime.name != one.regime.name)
      limits = grown(limits, expected->at(mine), ordinary_.get(ordinary)->at(mine));
    return following(limits,
                     limits.follow_emulation() ? floor_.emulation_error(one, *expected, mine) : EmulationError{});
  };
  const auto compared =
      compare_outputs(task, choices, one, plan, *expected, {outputs.begin(), outputs.end()}, limits_of_one);
  OutsideAnswer answer;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const ComparedOutput& output = compared[i];
    const auto miss = miss_of(output.difference, output.limits);
    if (miss && floor_.explains(output.difference, output.limits, one, *expected, i)) {
      answer.set_aside = true;
      continue;
    }
    answer.relative_l2 = std::max(answer.relative_l2, output.difference.relative_l2);
    if (miss && !answer.mismatch)
      answer.mismatch = {
          .shape = one.shape.name, .regime = one.regime.name, .seed = one.seed, .output = output.name, .miss = *miss};
  }
  return answer;
}

void OutsideAnswers::rest() {
  oracles_.rest();
  floor_.rest();
}

}  // namespace evo
