#include "engine/search/prediction_error.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/median.h"
#include "engine/base/rng.h"
#include "engine/space/space.h"

namespace evo {
namespace {

/// Observations from which on a forest is fitted.
constexpr std::size_t kEnough = 16;
/// Observations that a forest learns from at most, the latest ones, so that its cost does not grow with the run.
constexpr std::size_t kMemory = 512;
/// Spreads between the trees that are subtracted from the predicted ratio.
constexpr double kCredit = 0.5;

}  // namespace

PredictionError::PredictionError(const Space& space, std::size_t traits)
    : space_(space), traits_(traits), encoding_(space, traits), forest_(encoding_, Forest::Options()) {}

std::vector<float> PredictionError::row_of(const Genome& genome, std::span<const float> traits) const {
  std::vector<float> row(encoding_.columns());
  encoding_.encode(space_.point(genome), row.data());
  std::ranges::copy(traits.first(std::min(traits.size(), traits_)), row.end() - static_cast<std::ptrdiff_t>(traits_));
  return row;
}

void PredictionError::observe(const Genome& genome, const PredictedLatency& predicted, double measured_us) {
  const std::vector<float> row = row_of(genome, predicted.traits);
  rows_.insert(rows_.end(), row.begin(), row.end());
  ratios_.push_back(measured_us / *predicted.latency);
  if (ratios_.size() > kMemory) {
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(encoding_.columns()));
    ratios_.pop_front();
  }
  ++observed_;
  learnt_ = false;
}

void PredictionError::learn() {
  median_ = upper_median(std::vector<double>(ratios_.begin(), ratios_.end()));
  if (ratios_.size() >= kEnough) {
    const std::vector<float> rows(rows_.begin(), rows_.end());
    std::vector<float> targets;
    for (const double ratio : ratios_) targets.push_back(static_cast<float>(std::log(ratio)));
    Rng rng(observed_);
    forest_.fit(rows, targets, rng);
  }
  learnt_ = true;
}

std::optional<double> PredictionError::expected_us(const Genome& genome, const PredictedLatency& predicted) {
  if (!predicted.latency) return std::nullopt;
  return *predicted.latency * ratio(genome, predicted.traits);
}

double PredictionError::ratio(const Genome& genome, std::span<const float> traits) {
  if (!learnt_) learn();
  if (forest_.empty()) return median_;
  const Prediction log_ratio = forest_.predict(row_of(genome, traits).data());
  return std::exp(log_ratio.mean - kCredit * log_ratio.spread);
}

}  // namespace evo
