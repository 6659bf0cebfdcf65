#pragma once

#include <cstddef>
#include <span>

#include "evaluator/device/device.h"

namespace evo {

/// Decides when a timing has enough samples. The minimum holds whatever the time: a candidate that slows down while it
/// is measured must not shrink its own sample.
class StoppingCriterion {
 public:
  explicit StoppingCriterion(const TimingRequest& request);

  /// `usable`: the samples that would be reported. `taken`: all, throttled ones included. `elapsed_s`: since
  /// sampling began.
  bool finished(std::span<const double> usable, std::size_t taken, double elapsed_s) const;

 private:
  std::size_t min_samples_;
  std::size_t max_samples_;
  double min_seconds_;
  double max_seconds_;
  double relative_interval_;
};

}  // namespace evo
