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
    : calibrated_(calibration.has_value()),
      plan_(plan),
      oracles_(oracles),
      options_(emulated(options, calibration)),
      emulation_(options_, plan, stop) {}

double NoiseFloor::ill_conditioning(const Case& one, const Expected& exact) {
  if (!calibrated_) return 1;
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
  const auto emulated = emulation_.get(one);
  double floor = 0;
  for (std::size_t output = 0; output < exact.size(); ++output) {
    if (exact[output].dtype != DType::f32) continue;
    floor = std::max(floor, compare(DType::f32, emulated->at(output).bytes, exact[output].floats()).relative_l2);
  }
  return floor;
}

void NoiseFloor::rest() {
  emulation_.rest();
}

}  // namespace evo
