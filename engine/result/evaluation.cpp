#include "engine/result/evaluation.h"

#include <cmath>

namespace evo {

std::optional<double> latency_of(const Evaluation& evaluation) {
  const bool measured = outcome_class_of(evaluation.verdict) == OutcomeClass::ok;
  const bool sensible = std::isfinite(evaluation.latency_us) && evaluation.latency_us > 0;
  return measured && sensible ? std::optional<double>(evaluation.latency_us) : std::nullopt;
}

}  // namespace evo
