#include "evaluator/judge/noise_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/task/mutant.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/judge/output_comparison.h"

namespace evo::embedded {
/// own_reference.py: behind the reference.py of an imported problem, its reference without the step to double
/// precision.
extern const std::string_view own_reference;
}  // namespace evo::embedded

namespace evo {
namespace {

/// What single elements may err by of the worst of the problem's own code. They scatter: where a block of a transformer
/// was ill-conditioned (KernelBench level3/44), the worst of sums that are added one after another erred up to 10 times
/// as far as that of sums in blocks. Both are right.
constexpr double kElementFactor = 16;
/// What an honest kernel errs by at most, in units of what random last bits of the inputs make of the reference. Long
/// sums in another order err by more than that; where the limit is hundreds of last bits, as that of f32, a wrong
/// answer would otherwise pass wherever inputs are ill-conditioned.
constexpr double kPerturbedFactor = 32;
/// What an honest kernel errs by at most, in units of what the reference does in single precision: in another order, by
/// another formula, and where that one was lucky.
constexpr double kSinglePrecisionFactor = 8;
/// Half the last bit of an f32. The problem's own code errs less only by luck, where its results are few.
constexpr double kLeastOrdinary = 0x1p-24;

/// How the reference.py of an imported problem begins what makes the problem's Model (cli/rivals/describe_problem.py).
constexpr std::string_view kMakesModel = "\ndef new_model(kind, tensors):\n";

bool has_own_code(const PipelineOptions& options) {
  return has_torch_reference(options.task) &&
         options.tree.find(options.task.reference)->second.find(kMakesModel) != std::string::npos;
}

PipelineOptions honest(PipelineOptions options, const std::optional<Calibration>& calibration) {
  if (calibration) {
    options.tree = edited(options.tree, calibration->emulation);
  } else if (has_own_code(options)) {
    options.tree.find(options.task.reference)->second += fmt::format("\n\n{}", embedded::own_reference);
  }
  return options;
}

double worst_of(const std::vector<EmulationError>& errors) {
  double worst = 0;
  for (const EmulationError& error : errors) worst = std::max(worst, error.relative_l2);
  return worst;
}

}  // namespace

NoiseFloor::NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration,
                       const CasePlan& plan, OracleStore& oracles, const StopSignal* stop, const KnownHonest& known)
    : plan_(plan),
      oracles_(oracles),
      options_(honest(options, calibration)),
      plain_(options),
      edited_(options_, plan, stop, known.edited),
      perturbed_(plain_, plan, stop, known.perturbed) {
  has_single_precision_ = calibration && calibration->single_precision;
  if (calibration && !has_single_precision_) {
    stand_ins_ = {StandIn::emulation};
  } else if (!calibration && has_own_code(options)) {
    stand_ins_ = {StandIn::own_code, StandIn::perturbed};
  } else {
    stand_ins_ = {StandIn::perturbed};
  }
}

EmulationError NoiseFloor::emulation_error(const Case& one, const Expected& exact, std::size_t output) {
  const std::lock_guard lock(mutex_);
  if (!has_single_precision_) return errors(stand_in_for(one, exact), one, exact)->at(output);
  const Errors* known = errors(StandIn::single_precision, one, exact);
  return known == nullptr ? EmulationError{} : known->at(output);
}

bool NoiseFloor::explains(const Difference& difference, const Limits& limits, const Case& one, const Expected& exact,
                          std::size_t output) {
  if (limits.exact || difference.not_finite > 0) return false;
  if (difference.relative_l2 > kHopelessError && difference.want_rms > 0) return false;
  const std::lock_guard lock(mutex_);
  return explained_by_last_bits(difference, limits, one, exact, output) ||
         (has_single_precision_ && explained_by_single_precision(difference, limits, one, exact, output));
}

bool NoiseFloor::explained_by_last_bits(const Difference& difference, const Limits& limits, const Case& one,
                                        const Expected& exact, std::size_t output) {
  const StandIn stand_in = stand_in_for(one, exact);
  // A reference that is all zeros where differences cancel: no relative error says what the last bits make of that.
  if (difference.want_rms == 0)
    return difference.max_abs <= kElementFactor * largest_error(stand_in, one, exact, output);
  double times = ill_conditioning(stand_in, one, exact);
  if (stand_in == StandIn::perturbed && limits.relative_l2 > 0) {
    const double most = kPerturbedFactor * worst_of(*errors(stand_in, one, exact)) / limits.relative_l2;
    times = std::max(1.0, std::min(times, most));
  }
  const Limits wider = widened(limits, times);
  if (!miss_of(difference, wider)) return true;
  return stand_in == StandIn::own_code &&
         !miss_of(difference, admitting_it(stand_in, kFloorFactor, wider, one, exact, output));
}

bool NoiseFloor::explained_by_single_precision(const Difference& difference, const Limits& limits, const Case& one,
                                               const Expected& exact, std::size_t output) {
  if (errors(StandIn::single_precision, one, exact) == nullptr) return false;
  if (difference.want_rms == 0)
    return difference.max_abs <= kElementFactor * largest_error(StandIn::single_precision, one, exact, output);
  return !miss_of(difference,
                  admitting_it(StandIn::single_precision, kSinglePrecisionFactor, limits, one, exact, output));
}

double NoiseFloor::largest_error(StandIn stand_in, const Case& one, const Expected& exact, std::size_t output) {
  const Difference difference =
      compare(exact[output].dtype, answer(stand_in, one)->at(output).bytes, exact[output], {}, 0);
  return difference.not_finite == 0 ? difference.max_abs : 0;
}

/// An emulation or other inputs would not do: they may err by more than any kernel may.
Limits NoiseFloor::admitting_it(StandIn stand_in, double factor, const Limits& limits, const Case& one,
                                const Expected& exact, std::size_t output) {
  Limits wider = admitting(limits, errors(stand_in, one, exact)->at(output), factor);
  const ExpectedOutput& want = exact[output];
  if (!is_floating(want.dtype)) return wider;
  const double worst = compare(want.dtype, answer(stand_in, one)->at(output).bytes, want, limits, 0).worst_element;
  // An infinite one: where nothing is allowed, nothing is.
  if (worst < kIncomparable) wider.element_times = std::max(wider.element_times, kElementFactor * worst);
  return wider;
}

NoiseFloor::StandIn NoiseFloor::stand_in_for(const Case& one, const Expected& exact) {
  const auto computes = [&](StandIn each) { return errors(each, one, exact) != nullptr && ordinary(each) != nullptr; };
  return *std::ranges::find_if(stand_ins_, [&](StandIn each) { return each == stand_ins_.back() || computes(each); });
}

double NoiseFloor::ill_conditioning(StandIn stand_in, const Case& one, const Expected& exact) {
  double usual = worst_of(*ordinary(stand_in));
  if (stand_in == StandIn::own_code) usual = std::max(usual, kLeastOrdinary);
  return usual > 0 ? std::max(1.0, worst_of(*errors(stand_in, one, exact)) / usual) : 1;
}

const NoiseFloor::Errors* NoiseFloor::ordinary(StandIn stand_in) {
  const std::size_t first = plan_.timed.front().rotation.front();
  return errors(stand_in, plan_.cases[first], *answer_to(first, plan_, oracles_, perturbed_));
}

const NoiseFloor::Errors* NoiseFloor::errors(StandIn stand_in, const Case& one, const Expected& exact) {
  const std::pair key(stand_in, fingerprint(one.recipe));
  if (const auto known = known_.find(key); known != known_.end()) return known->second ? &*known->second : nullptr;
  try {
    return &*(known_[key] = measured(stand_in, one, exact));
  } catch (const Error& error) {
    const bool may_fail = stand_in == StandIn::own_code || stand_in == StandIn::single_precision;
    if (!may_fail || error.fault() != Fault::usage) throw;
    known_[key] = std::nullopt;
    return nullptr;
  }
}

NoiseFloor::Errors NoiseFloor::measured(StandIn stand_in, const Case& one, const Expected& exact) {
  const std::shared_ptr<const Expected> honest = answer(stand_in, one);
  Limits with_rows;
  with_rows.row_l2 = 1;  // Rows are only compared where they have a limit.
  Errors errors(exact.size());
  for (std::size_t output = 0; output < exact.size(); ++output) {
    const ExpectedOutput& want = exact[output];
    if (!is_floating(want.dtype)) continue;
    const std::uint64_t row = row_of(plain_.task, plain_.target.options, one.shape, output);
    const Difference difference = compare(want.dtype, honest->at(output).bytes, want, with_rows, row);
    // It is to round what the reference computes. No error would be a limit that no kernel keeps.
    if (stand_in == StandIn::emulation && difference.not_finite > 0 &&
        std::isfinite(std::strtod(difference.reference.c_str(), nullptr)))
      throw usage_error(
          fmt::format("{}/limits.json: the emulation is not finite where the reference is, at shape {} in "
                      "regime {}",
                      plain_.task.name, one.shape.name, one.regime.name));
    // Where infinities or NaN depend on the last bits, the other elements tell nothing.
    if (difference.not_finite == 0) errors.at(output) = {difference.relative_l2, difference.row_l2};
  }
  return errors;
}

std::shared_ptr<const Expected> NoiseFloor::answer(StandIn stand_in, const Case& one) {
  if (stand_in != StandIn::perturbed) return edited_.get(one);
  Case like_it = one;
  like_it.recipe.perturbed = true;
  return perturbed_.get(like_it);
}

void NoiseFloor::rest() {
  const std::lock_guard lock(mutex_);
  edited_.rest();
  perturbed_.rest();
}

}  // namespace evo
