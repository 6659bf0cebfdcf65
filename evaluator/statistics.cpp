#include "evaluator/statistics.h"

#include <algorithm>
#include <cmath>

namespace evo {
namespace {

constexpr double kTail = 0.025;

/// The largest rank l (from 1) for which fewer than l of n samples lie below the median with at most 2.5 %; 1
/// at least.
std::size_t lower_rank(std::size_t n) {
  // Binomial(n, 1/2) summed from below; logarithms, since 2^-n underflows beyond a thousand samples.
  double log_probability = -static_cast<double>(n) * std::log(2.0);
  double below = 0;
  std::size_t rank = 0;
  while (rank < n) {
    below += std::exp(log_probability);
    if (below > kTail) break;
    log_probability += std::log(static_cast<double>(n - rank) / static_cast<double>(rank + 1));
    ++rank;
  }
  return std::max<std::size_t>(rank, 1);
}

}  // namespace

MedianInterval median_interval(std::span<const double> samples) {
  if (samples.empty()) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const std::size_t rank = lower_rank(n);
  return {(sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[rank - 1], sorted[n - rank]};
}

void ThrottledSamples::mark_throttled(std::size_t count) {
  for (std::size_t i = taken_.size() - std::min(count, taken_.size()); i < taken_.size(); ++i)
    taken_[i].throttled = true;
}

std::vector<double> ThrottledSamples::unthrottled() const {
  std::vector<double> samples;
  for (const Sample& sample : taken_) {
    if (!sample.throttled) samples.push_back(sample.us);
  }
  return samples;
}

std::vector<double> ThrottledSamples::kept(std::size_t minimum) const {
  std::vector<double> samples = unthrottled();
  if (!samples.empty() && samples.size() >= minimum) return samples;
  samples.clear();
  for (const Sample& sample : taken_) samples.push_back(sample.us);
  return samples;
}

}  // namespace evo
