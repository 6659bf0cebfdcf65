#include "evaluator/hosts/model_job.h"

namespace evo {

ModelResult result_of(protocol::Modelled modelled) {
  if (modelled.failure) return *std::move(modelled.failure);
  const double latency_us = duration_us(modelled.launches);
  return Forecast{latency_us, std::move(modelled.launches), std::move(modelled.binary.build)};
}

}  // namespace evo
