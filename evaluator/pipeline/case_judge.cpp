#include "evaluator/pipeline/case_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "engine/task/limits.h"
#include "evaluator/judge/answer_size.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/judge/wrong_answer.h"
#include "evaluator/numbers/elements.h"
#include "evaluator/pipeline/candidate_worker.h"

namespace evo {
namespace {

/// Elements of an output whose error is described.
constexpr std::uint64_t kLookedAt = 1 << 20;

/// A device adds up in another order than the host, so sums differ in their last bits. Closer to a limit the host
/// tells.
constexpr double kWellWithin = 0.999;

Failure wrong_answer_of(Mismatch mismatch) {
  Failure failure{Verdict::wrong_answer, ""};
  failure.mismatch = std::move(mismatch);
  return failure;
}

/// Of integers that are rounded floats: so near to a tie that single precision falls on the other side. The share of
/// elements, and how many may be so in any case.
constexpr double kNearTies = 1e-4, kFewNearTies = 2.5;

/// Draws that tell how large an answer usually is.
constexpr int kDrawsOfSize = 8;

bool takes_floats(const Task& task) {
  return std::ranges::any_of(task.inputs,
                             [&](const Tensor& input) { return is_floating(dtype_of(input, task.default_options())); });
}

/// Limits were meant for the sizes that are listed. Sums that are longer err further, at random as the root of their
/// length.
Limits of_longer_sums(Limits limits, const Task& task, const Shape& shape) {
  double longer = 1;
  for (const auto& [parameter, value] : shape.parameters) {
    const auto* size = std::get_if<std::int64_t>(&value);
    std::int64_t most = 0;
    for (const Shape& listed : task.shapes) {
      const auto found = listed.parameters.find(parameter);
      if (found == listed.parameters.end()) continue;
      if (const auto* there = std::get_if<std::int64_t>(&found->second)) most = std::max(most, *there);
    }
    if (size != nullptr && most > 0) longer = std::max(longer, static_cast<double>(*size) / static_cast<double>(most));
  }
  const double further = std::sqrt(longer);
  limits.relative_l2 *= further;
  limits.row_l2 *= further;
  limits.max_abs *= further;
  limits.cosine = 1 - (1 - limits.cosine) * longer;
  return limits;
}

/// `miss`: empty for an output that is right.
Mismatch mismatch_of(const Case& one, const ComparedOutput& output, const std::optional<Miss>& miss,
                     const EmulationError& honest) {
  Mismatch mismatch{one.shape.name, one.regime.name, one.seed, output.name, miss.value_or(Miss{})};
  if (!output.limits.follow_emulation()) return mismatch;
  mismatch.emulation_l2 = honest.relative_l2;
  mismatch.emulation_row = honest.row_l2;
  return mismatch;
}

}  // namespace

bool is_finite(const ExpectedOutput& output) {
  for (std::uint64_t i = 0; is_floating(output.dtype) && i < output.bytes.size() / size_of(output.dtype); ++i)
    if (!std::isfinite(as_double(load_at(output.dtype, output.bytes.data(), i)))) return false;
  return true;
}

ComparedCase CaseJudge::compare(const Case& one, std::shared_ptr<const Expected> expected,
                                std::vector<std::byte> outputs) const {
  ComparedCase compared{false, std::move(expected), {}, {}};
  const Plan& plan = plan_of(candidate_, one);
  if (outputs.size() != protocol::output_bytes(plan)) return compared;
  compared.has_right_size = true;
  const Task& task = setup_.options.task;
  const Bindings& choices = setup_.options.target.options;
  std::vector<EmulationError>& honest = compared.honest;
  const Limits of_regime = limits_for(setup_.calibration, task, limits_, one.regime.name);
  const auto limits_of = [&](const Tensor& output) {
    const Limits limits = grown_limits(limits_of_output(task, output, choices, of_regime), output, one,
                                       *compared.expected, honest.size());
    honest.push_back(limits.follow_emulation() ? setup_.floor.emulation_error(one, *compared.expected, honest.size())
                                               : EmulationError{});
    return following(limits, honest.back());
  };
  compared.outputs = compare_outputs(task, choices, one, plan, *compared.expected, std::move(outputs), limits_of);
  return compared;
}

std::vector<ComparedFor> CaseJudge::compared_there(const Case& one) const {
  std::vector<ComparedFor> wanted;
  for (const ComparedOutput& output : outputs_there(one))
    wanted.push_back(compared_for(output.limits, output.rows > 1 ? output.elements / output.rows : 0));
  return wanted;
}

std::optional<ComparedCase> CaseJudge::compared(const Case& one, const std::vector<OutputSums>& sums) const {
  ComparedCase compared{true, std::make_shared<const Expected>(), outputs_there(one), {}};
  if (sums.size() != compared.outputs.size()) return std::nullopt;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    ComparedOutput& output = compared.outputs[i];
    output.difference = evo::difference_of(sums[i], output.got_dtype);
    compared.honest.emplace_back();
    if (sums[i].elements != output.elements || miss_of(output.difference, output.limits) ||
        !(closeness(output.difference, output.limits) < kWellWithin))
      return std::nullopt;
  }
  return compared;
}

/// Without what the device finds.
std::vector<ComparedOutput> CaseJudge::outputs_there(const Case& one) const {
  const Task& task = setup_.options.task;
  const Bindings& choices = setup_.options.target.options;
  const Limits of_regime = limits_for(setup_.calibration, task, limits_, one.regime.name);
  std::vector<ComparedOutput> outputs;
  for (const Tensor& tensor : task.outputs) {
    if (!is_present(tensor, choices)) continue;
    ComparedOutput output{tensor.name, limits_of_output(task, tensor, choices, of_regime), {}};
    const std::uint64_t row = row_of(task, choices, one.shape, outputs.size());
    output.got_dtype = dtype_of(tensor, choices);
    output.elements = output_elements(tensor, choices, one.shape);
    output.rows = row > 0 ? output.elements / row : 0;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Limits CaseJudge::grown_limits(Limits limits, const Tensor& tensor, const Case& one, const Expected& expected,
                               std::size_t output) const {
  const Target& target = setup_.options.target;
  const Task& task = setup_.options.task;
  if (setup_.options.only_judging) {
    // What single precision errs by is measured at each size.
    if (!setup_.calibration || !setup_.calibration->single_precision) limits = of_longer_sums(limits, task, one.shape);
    if (limits.exact && tensor.any_of_equal.empty() && takes_floats(task)) {
      const ExpectedOutput& answer = expected.at(output);
      const auto elements = static_cast<double>(answer.bytes.size() / size_of(answer.dtype));
      limits.exact = false;
      limits.off_by_one = std::max(kNearTies, kFewNearTies / std::max(elements, 1.0));
    }
  }
  if (limits.atol <= 0) return limits;
  if (one.regime.name == task.regimes_of(target.objective).front().name) {
    // At sizes that are not listed answers may be larger than those that `atol` was meant for.
    return setup_.options.only_judging ? grown(limits, expected.at(output), expected.at(output)) : limits;
  }
  const std::size_t ordinary = ordinary_case(task, target, setup_.plan, one);
  return grown(limits, expected.at(output), setup_.oracles.get(ordinary)->at(output));
}

/// Errors are relative to the answer. One of few elements may be small by chance, and then to what it usually is. Where
/// the answer is within its limits anyway nothing else is asked for.
Difference CaseJudge::difference_of(const Case& one, const ComparedCase& compared, const ComparedOutput& output) const {
  if (output.elements >= kFewElements || output.limits.exact || !miss_of(output.difference, output.limits))
    return output.difference;
  const auto number = static_cast<std::size_t>(output.want - compared.expected->data());
  std::vector<AnswerSize> sizes;
  for (const Case& like_it :
       more_cases(setup_.options.task, setup_.options.target, one, setup_.options.salt, kDrawsOfSize))
    sizes.push_back(answer_size(setup_.extra.get(like_it)->at(number)));
  return relative_to_usual(output.difference, answer_size(*output.want), usual_size(sizes));
}

CaseJudge::Check CaseJudge::judge(const Case& one, const ComparedCase& compared, bool further) {
  if (!compared.has_right_size)
    return {Failure{Verdict::harness_failed, name_of_case(one) + ": an answer of the wrong size"}};
  Check check;
  for (std::size_t i = 0; i < compared.outputs.size(); ++i) {
    const ComparedOutput& output = compared.outputs[i];
    const Difference difference = difference_of(one, compared, output);
    const auto miss = miss_of(difference, output.limits);
    if (!further) add_to_average(one, output, difference, *compared.expected, i);
    check.closeness = std::max(check.closeness, closeness(difference, output.limits));
    const bool open = miss && PooledDraws::leave_open(difference, output.limits, output.rows, further);
    Mismatch mismatch = mismatch_of(one, output, miss, compared.honest[i]);
    if (output.limits.follow_emulation()) pooled_.add(mismatch, difference, output.limits, open);
    if (open) check.further_draws = std::max(check.further_draws, PooledDraws::further_draws(difference, output.rows));
    if (miss && !open && setup_.floor.explains(difference, output.limits, one, *compared.expected, i)) continue;
    evaluation_.errors.push_back({one.shape.name, one.seed, one.regime.name, output.name, difference.relative_l2,
                                  difference.max_abs, difference.cosine});
    evaluation_.worst_relative_l2 = std::max(evaluation_.worst_relative_l2, difference.relative_l2);
    if (miss && !open) {
      mismatch.looks_like = look_of(one, output);
      return {wrong_answer_of(std::move(mismatch))};
    }
  }
  return check;
}

std::optional<Failure> CaseJudge::check(std::size_t number, std::span<const std::byte> outputs) {
  const Case& one = setup_.plan.cases[number];
  return judge(one, compare(one, answer_to(number, setup_.plan, setup_.oracles, setup_.extra),
                            {outputs.begin(), outputs.end()}))
      .failure;
}

std::optional<Failure> CaseJudge::check_pools() const {
  auto mismatch = pooled_.mismatch();
  if (!mismatch) mismatch = average_.mismatch();
  if (!mismatch) return std::nullopt;
  return wrong_answer_of(*std::move(mismatch));
}

void CaseJudge::add_to_average(const Case& one, const ComparedOutput& output, const Difference& difference,
                               const Expected& expected, std::size_t number) {
  if (!setup_.calibration || difference.not_finite > 0 || difference.want_rms == 0) return;
  const auto limit = setup_.calibration->average.find(output.name);
  if (limit == setup_.calibration->average.end()) return;
  const EmulationError honest = setup_.floor.emulation_error(one, expected, number);
  const Miss miss{.kind = LimitKind::relative_l2,
                  .error = difference.relative_l2,
                  .allowed = std::hypot(limit->second.times * honest.relative_l2, limit->second.plus)};
  Mismatch draw{one.shape.name, one.regime.name, one.seed, output.name, miss};
  draw.emulation_l2 = honest.relative_l2;
  average_.add(std::move(draw), static_cast<double>(output.elements));
}

/// The summary of a diagnosis. Very large answers are not looked at: a search must not wait for them.
std::string CaseJudge::look_of(const Case& one, const ComparedOutput& output) const {
  if (output.elements > kLookedAt || !is_finite(*output.want)) return {};
  const auto wrong = wrong_answer(setup_.options.task, setup_.options.target.options, one, output);
  return wrong ? summary(*wrong) : "";
}

}  // namespace evo
