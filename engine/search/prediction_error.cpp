#include "engine/search/prediction_error.h"

#include <cmath>
#include <deque>
#include <vector>

#include "engine/base/median.h"

namespace evo {
namespace {

/// Observations from which on a forest is fitted.
constexpr std::size_t kEnough = 16;
/// Observations that a forest learns from at most, the latest ones, so that its cost does not grow with the run.
constexpr std::size_t kMemory = 512;
/// Spreads between the trees that are subtracted from the predicted ratio.
constexpr double kCredit = 0.5;

}  // namespace

PredictionError::PredictionError(const Space& space, std::size_t traits) : ratios_(space, traits, kMemory) {}

void PredictionError::observe(const Genome& genome, const PredictedLatency& predicted, double measured_us) {
  ratios_.observe(genome, predicted.traits, measured_us / *predicted.latency);
  learnt_ = false;
}

void PredictionError::learn() {
  const std::deque<double>& ratios = ratios_.outcomes();
  median_ = upper_median(std::vector<double>(ratios.begin(), ratios.end()));
  if (ratios.size() >= kEnough) {
    std::vector<float> targets;
    for (const double ratio : ratios) targets.push_back(static_cast<float>(std::log(ratio)));
    ratios_.fit(targets);
  }
  learnt_ = true;
}

std::optional<double> PredictionError::expected_us(const Genome& genome, const PredictedLatency& predicted) {
  if (!predicted.latency) return std::nullopt;
  return *predicted.latency * ratio(genome, predicted.traits);
}

double PredictionError::ratio(const Genome& genome, std::span<const float> traits) {
  if (!learnt_) learn();
  if (!ratios_.is_fitted()) return median_;
  const Prediction log_ratio = ratios_.predict(genome, traits);
  return std::exp(log_ratio.mean - kCredit * log_ratio.spread);
}

}  // namespace evo
