#include "evaluator/base/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

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

namespace {

/// Quantile 0.975 of Student's t distribution: tabulated, and beyond by Cornish and Fisher's expansion about the normal
/// one (Abramowitz & Stegun 26.7.5), there exact to four digits.
double t_quantile(std::size_t degrees) {
  constexpr std::array<double, 10> kTable = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                             2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  if (degrees == 0) return std::numeric_limits<double>::infinity();
  if (degrees <= kTable.size()) return kTable[degrees - 1];
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(degrees);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/// From 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b, bool exact) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double log = a[i] > 0 && b[i] > 0 ? std::log(a[i] / b[i]) : std::numeric_limits<double>::quiet_NaN();
    if (std::isfinite(log)) logs.push_back(log);
  }
  PairedRatio result;
  result.pairs = logs.size();
  if (logs.empty()) return {1, 0, std::numeric_limits<double>::infinity(), 0};
  const auto n = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
  double squares = 0;
  for (const double log : logs) squares += (log - mean) * (log - mean);
  double half_width = 0;
  if (!exact) {
    half_width = logs.size() > 1 ? t_quantile(logs.size() - 1) * std::sqrt(squares / (n - 1) / n)
                                 : std::numeric_limits<double>::infinity();
  }
  result.ratio = std::exp(mean);
  result.low = std::exp(mean - half_width);
  result.high = std::exp(mean + half_width);
  return result;
}

Ranking ranking(const PairedRatio& ratio) {
  if (ratio.high < 1) return Ranking::faster;
  return ratio.low > 1 ? Ranking::slower : Ranking::same;
}

bool plainly_same(const PairedRatio& ratio, double margin) {
  return ratio.low > 1 - margin && ratio.high < 1 + margin;
}

std::string_view name_of(Ranking ranking) {
  switch (ranking) {
    case Ranking::faster:
      return "FASTER";
    case Ranking::slower:
      return "SLOWER";
    default:
      return "SAME";
  }
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
