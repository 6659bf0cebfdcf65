#include "evaluator/pipeline/noise_floor.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/task/mutant.h"
#include "evaluator/pipeline/comparison.h"

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

double NoiseFloor::ill_conditioning(const Case& one, const Expected& exact) {
  const std::string key = protocol::fingerprint(one.recipe);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (!ordinary_) {
    const std::size_t first = plan_.timed.front().rotation.front();
    ordinary_ = floor(plan_.cases[first], *oracles_.get(first));
  }
  const double here = floor(one, exact);
  return known_[key] = *ordinary_ > 0 ? std::max(1.0, here / *ordinary_) : 1;
}

double NoiseFloor::floor(const Case& one, const Expected& exact) {
  Case like_it = one;
  like_it.recipe.perturbed = !has_emulation_;
  const auto honest = stand_in_.get(like_it);
  double floor = 0;
  for (std::size_t output = 0; output < exact.size(); ++output) {
    const ExpectedOutput& want = exact[output];
    if (is_floating(want.dtype))
      floor = std::max(floor, compare(want.dtype, honest->at(output).bytes, want, {}, 0).relative_l2);
  }
  return floor;
}

void NoiseFloor::rest() {
  stand_in_.rest();
}

}  // namespace evo
