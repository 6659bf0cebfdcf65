#include "evaluator/pipeline/noise_floor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/task/mutant.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/pipeline/comparison.h"
#include "evaluator/pipeline/output_comparison.h"

namespace evo {
namespace {

PipelineOptions emulated(PipelineOptions options, const std::optional<Calibration>& calibration) {
  if (calibration) options.tree = edited(options.tree, calibration->emulation);
  return options;
}

}  // namespace

NoiseFloor::NoiseFloor(const PipelineOptions& options, const std::optional<Calibration>& calibration,
                       const CasePlan& plan, OracleStore& oracles, const StopSignal* stop)
    : has_emulation_(calibration.has_value()),
      plan_(plan),
      oracles_(oracles),
      options_(emulated(options, calibration)),
      stand_in_(options_, plan, stop) {}

EmulationError NoiseFloor::emulation_error(const Case& one, const Expected& exact, std::size_t output) {
  const std::lock_guard lock(mutex_);
  return errors(one, exact).at(output);
}

double NoiseFloor::ill_conditioning(const Case& one, const Expected& exact) {
  const std::lock_guard lock(mutex_);
  if (!ordinary_) {
    const std::size_t first = plan_.timed.front().rotation.front();
    ordinary_ = floor(plan_.cases[first], *oracles_.get(first));
  }
  const double here = floor(one, exact);
  return *ordinary_ > 0 ? std::max(1.0, here / *ordinary_) : 1;
}

double NoiseFloor::floor(const Case& one, const Expected& exact) {
  double floor = 0;
  for (const EmulationError& error : errors(one, exact)) floor = std::max(floor, error.relative_l2);
  return floor;
}

const std::vector<EmulationError>& NoiseFloor::errors(const Case& one, const Expected& exact) {
  const std::string key = fingerprint(one.recipe);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Case like_it = one;
  like_it.recipe.perturbed = !has_emulation_;
  const auto honest = stand_in_.get(like_it);
  Limits with_rows;
  with_rows.row_l2 = 1;  // Rows are only compared where they have a limit.
  std::vector<EmulationError> errors(exact.size());
  for (std::size_t output = 0; output < exact.size(); ++output) {
    const ExpectedOutput& want = exact[output];
    if (!is_floating(want.dtype)) continue;
    const std::uint64_t row = row_of(options_.task, options_.target.options, one.shape, output);
    const Difference difference = compare(want.dtype, honest->at(output).bytes, want, with_rows, row);
    errors[output] = {difference.relative_l2, difference.row_l2};
  }
  return known_[key] = std::move(errors);
}

void NoiseFloor::rest() {
  const std::lock_guard lock(mutex_);
  stand_in_.rest();
}

}  // namespace evo
