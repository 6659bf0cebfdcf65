#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace evo {

/// A median with its 95 % confidence interval.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;

  /// Width of the interval as a part of the median; 0 for a median of 0.
  double relative_width() const { return median > 0 ? (high - low) / median : 0; }
};

/// Median (mean of the middle two for an even count) with a distribution-free interval from order statistics: the
/// narrowest symmetric pair of ranks (l, n + 1 - l) that holds the true median with at least 95 % by the binomial
/// distribution (David & Nagaraja, Order Statistics, 7.1). Below six samples no pair does, and the interval is the
/// whole range. Zeros without samples.
MedianInterval median_interval(std::span<const double> samples);

/// How two latencies that were measured in pairs compare: the geometric mean of a / b over the pairs, with Student's 95
/// % interval of the mean of log(a / b).
struct PairedRatio {
  double ratio = 1;
  double low = 1;
  double high = 1;
  std::size_t pairs = 0;
};
/// Leaves out pairs beyond the shorter list, and those without two positive numbers. A single pair gives an interval
/// only where the latencies are `exact`: a device that repeats itself.
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b, bool exact);

/// How a ranks against b at 95 % confidence.
enum class Ranking { faster, same, slower };
Ranking ranking(const PairedRatio& ratio);
/// Whether the whole interval lies within `margin` of 1.
bool plainly_same(const PairedRatio& ratio, double margin);
std::string_view name_of(Ranking ranking);  ///< "FASTER", "SAME", "SLOWER".

/// Spearman's rank correlation of two lists of equal length, equal values sharing their mean rank: 1 when both have the
/// same order, -1 when the opposite, 0 when one of them is constant.
double rank_correlation(std::span<const double> a, std::span<const double> b);

/// Samples of a timing. Those taken while the GPU had lowered its clocks are marked.
class ThrottledSamples {
 public:
  void add(double sample_us) { taken_.push_back({sample_us, false}); }
  /// Marks the last `count` samples.
  void mark_throttled(std::size_t count);

  std::size_t taken() const { return taken_.size(); }
  /// Samples at full clocks.
  std::vector<double> unthrottled() const;
  /// The samples at full clocks if there are at least `minimum`, else all samples.
  std::vector<double> kept(std::size_t minimum) const;

 private:
  struct Sample {
    double us = 0;
    bool throttled = false;
  };
  std::vector<Sample> taken_;
};

}  // namespace evo
