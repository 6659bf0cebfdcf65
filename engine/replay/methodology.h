#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/replay/recording.h"

namespace evo {

/// The performance score P of the auto-tuning methodology (Willemsen et al., "A methodology for comparing
/// optimization algorithms for auto-tuning", 2024) on one recorded space: 0 for random search, 1 for the
/// optimum at once. Time is simulated: a visit costs what compiling and benchmarking the configuration cost
/// when it was recorded, failures included. P averages, over 1000 moments, how much of the distance from the
/// random baseline to the optimum is closed by the configuration at the runs' mean rank.
class Methodology {
 public:
  /// Throws usage_error when no row is valid.
  explicit Methodology(const Recording& recording);

  double optimum_us() const { return sorted_us_.front(); }
  double worst_us() const { return sorted_us_.back(); }
  double median_us() const { return median_us_; }
  std::size_t valid() const { return sorted_us_.size(); }
  /// Where the scored time ends: random search has come 95 % of the way from the median to the optimum.
  std::size_t cutoff_evaluations() const { return cutoff_evaluations_; }
  double cutoff_s() const { return moments_s_.back(); }

  /// The best rank so far at each moment of one run: 0 is the optimum. `order`: rows in order of first visit.
  std::vector<std::uint32_t> ranks(std::span<const std::size_t> order) const;
  /// P of runs with these ranks; `chosen` indexes into them and may repeat (bootstrap).
  double score(const std::vector<std::vector<std::uint32_t>>& ranks, std::span<const std::size_t> chosen) const;
  double score(const std::vector<std::vector<std::uint32_t>>& ranks) const;

  static constexpr std::size_t kMoments = 1000;

 private:
  const Recording& recording_;
  std::vector<double> sorted_us_;
  std::vector<std::uint32_t> rank_;  ///< By row; failures rank last.
  double median_us_ = 0;
  std::size_t cutoff_evaluations_ = 0;
  std::vector<double> moments_s_;
  std::vector<double> baseline_us_;  ///< Random search at each moment.
};

}  // namespace evo
