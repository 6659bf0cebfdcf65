#include "engine/replay/methodology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/mean.h"

namespace evo {
namespace {

constexpr double kStartShare = 0.01;  // of the way from the median to the optimum: where scoring starts
constexpr double kLastShare = 0.95;   // and where it ends

double median(std::vector<double> sorted) {
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

// Expected draws without replacement until random search has come this share of the way from the median to
// the optimum.
std::size_t draws_to(double share, const std::vector<double>& ascending, double median_us) {
  const double target = ascending.front() + (median_us - ascending.front()) * (1 - share);
  const auto reached = std::upper_bound(ascending.begin(), ascending.end(), target);
  const auto good = static_cast<double>(reached - ascending.begin());
  const auto all = static_cast<double>(ascending.size());
  return static_cast<std::size_t>(std::ceil((all - good) / (good + 1)));
}

}  // namespace

Methodology::Methodology(const Recording& recording) : recording_(recording) {
  std::vector<double> valid_costs;
  std::vector<double> failed_costs;
  std::vector<double> costs;
  for (const RecordedRow& row : recording.rows) {
    if (row.latency_us) sorted_us_.push_back(*row.latency_us);
    (row.latency_us ? valid_costs : failed_costs).push_back(row.cost_s);
    costs.push_back(row.cost_s);
  }
  if (sorted_us_.empty()) throw usage_error(fmt::format("{}: no configuration is valid", recording.name));
  std::sort(sorted_us_.begin(), sorted_us_.end());
  median_us_ = median(sorted_us_);
  const std::size_t n = sorted_us_.size();
  for (const RecordedRow& row : recording.rows) {
    const auto place =
        row.latency_us ? std::lower_bound(sorted_us_.begin(), sorted_us_.end(), *row.latency_us) : sorted_us_.end() - 1;
    rank_.push_back(static_cast<std::uint32_t>(place - sorted_us_.begin()));
  }
  const double failing_share = static_cast<double>(failed_costs.size()) / static_cast<double>(costs.size());
  const double cost_per_draw = mean(valid_costs) + failing_share * mean(failed_costs);
  const double typical_cost = median(costs);
  cutoff_evaluations_ = draws_to(kLastShare, sorted_us_, median_us_);
  const double begin_s = static_cast<double>(draws_to(kStartShare, sorted_us_, median_us_)) * typical_cost;
  const double end_s = static_cast<double>(cutoff_evaluations_) * typical_cost;
  const double step = (end_s - begin_s) / (kMoments - 1);
  for (std::size_t i = 0; i < kMoments; ++i) {
    const double moment = i + 1 == kMoments ? end_s : static_cast<double>(i) * step + begin_s;
    // The expected minimum of m draws without replacement lies at the (n + 1) / (m + 1)-th smallest.
    const double draws = std::max(1.0, std::nearbyint(std::max(moment / cost_per_draw, 1.0)));
    const double place = std::nearbyint(draws * static_cast<double>(n + 1) / (draws + 1));
    moments_s_.push_back(moment);
    baseline_us_.push_back(sorted_us_[n - 1 - std::min(n - 1, static_cast<std::size_t>(place))]);
  }
}

std::vector<std::uint32_t> Methodology::ranks(std::span<const std::size_t> order) const {
  std::vector<std::uint32_t> result(kMoments, static_cast<std::uint32_t>(sorted_us_.size() - 1));
  if (order.empty()) return result;
  double spent_s = 0;
  std::uint32_t best = rank_[order.front()];  // counts from the start, even before it has been paid for
  std::size_t next = 0;
  for (std::size_t i = 0; i < kMoments; ++i) {
    while (next < order.size() && spent_s + recording_.rows[order[next]].cost_s <= moments_s_[i]) {
      spent_s += recording_.rows[order[next]].cost_s;
      best = std::min(best, rank_[order[next]]);
      ++next;
    }
    result[i] = best;
  }
  return result;
}

double Methodology::score(const std::vector<std::vector<std::uint32_t>>& ranks,
                          std::span<const std::size_t> chosen) const {
  std::vector<std::uint64_t> sums(kMoments, 0);
  for (const std::size_t run : chosen) {
    for (std::size_t i = 0; i < kMoments; ++i) sums[i] += ranks[run][i];
  }
  double total = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < kMoments; ++i) {
    const double room = baseline_us_[i] - optimum_us();
    // Once random search has found the optimum there is nothing to score. (In milliseconds: 1e-12.)
    if (!(room > 1e-9)) continue;
    const double mean_rank = static_cast<double>(sums[i]) / static_cast<double>(chosen.size());
    const auto rank = std::min(sorted_us_.size() - 1, static_cast<std::size_t>(std::nearbyint(mean_rank)));
    total += (baseline_us_[i] - sorted_us_[rank]) / room;
    ++counted;
  }
  return counted == 0 ? std::nan("") : total / static_cast<double>(counted);
}

double Methodology::score(const std::vector<std::vector<std::uint32_t>>& ranks) const {
  std::vector<std::size_t> all(ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return score(ranks, all);
}

}  // namespace evo
