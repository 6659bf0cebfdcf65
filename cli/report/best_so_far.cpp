#include "cli/report/best_so_far.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace evo::cli {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();

double best_at(const BestCurve& curve, double at) {
  const auto behind = std::ranges::upper_bound(curve.steps, at, {}, &BestStep::at);
  return behind == curve.steps.begin() ? kNothing : std::prev(behind)->latency_us;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

double middle(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

BestCurves curves_together(const std::vector<BestCurve>& curves) {
  std::set<double> places;
  for (const BestCurve& curve : curves) {
    places.insert(curve.end);
    for (const BestStep& step : curve.steps) places.insert(step.at);
  }
  BestCurves all;
  all.at.assign(places.begin(), places.end());
  all.runs.resize(curves.size());
  for (const double at : all.at) {
    std::vector<double> bests;
    for (std::size_t run = 0; run < curves.size(); ++run) {
      bests.push_back(best_at(curves[run], at));
      all.runs[run].push_back(at <= curves[run].end ? finite(bests.back()) : std::nullopt);
    }
    if (bests.empty()) continue;
    std::ranges::sort(bests);
    all.median.push_back(finite(middle(bests)));
    all.least.push_back(finite(bests.front()));
    all.largest.push_back(finite(bests.back()));
  }
  return all;
}

}  // namespace evo::cli
