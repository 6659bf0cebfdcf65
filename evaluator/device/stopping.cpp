#include "evaluator/device/stopping.h"

#include <algorithm>

#include "evaluator/base/statistics.h"

namespace evo {

StoppingCriterion::StoppingCriterion(const TimingRequest& request)
    : min_samples_(static_cast<std::size_t>(std::max(request.min_samples, 1))),
      max_samples_(static_cast<std::size_t>(std::max({request.max_samples, request.min_samples, 1}))),
      min_seconds_(request.min_seconds),
      max_seconds_(request.max_seconds),
      relative_interval_(request.relative_interval) {}

bool StoppingCriterion::finished(std::span<const double> usable, std::size_t taken, double elapsed_s) const {
  if (taken < min_samples_) return false;
  if (taken >= max_samples_ || elapsed_s >= max_seconds_) return true;
  return elapsed_s >= min_seconds_ && usable.size() >= min_samples_ &&
         median_interval(usable).relative_width() <= relative_interval_;
}

}  // namespace evo
