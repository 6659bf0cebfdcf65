#pragma once

#include <optional>
#include <span>

#include "engine/search/latency_predictor.h"
#include "engine/search/recent_forest.h"
#include "engine/task/genome.h"

namespace evo {

/// The error of a latency predictor, learnt from the genomes that were measured. A model is wrong in the same way about
/// similar genomes: it leaves out the same stall in all that have it. A search that trusts the model uncorrected is led
/// to the genomes that the model favours wrongly.
class PredictionError {
 public:
  /// `space` must outlive it. `traits`: how many the predictor gives (LatencyPredictor::traits).
  explicit PredictionError(const Space& space, std::size_t traits = 0);

  /// Whether any genome was measured.
  bool knows_any() const { return ratios_.observed() > 0; }
  /// `predicted` has a finite latency.
  void observe(const Genome& genome, const PredictedLatency& predicted, double measured_us);
  /// The latency to expect when the genome is measured. Empty or infinite where the prediction is.
  std::optional<double> expected_us(const Genome& genome, const PredictedLatency& predicted);
  /// The ratio measured/predicted to expect of a genome. Until there are enough measurements this is their median. Then
  /// a forest predicts it from the genes and the predictor's traits; half of the spread between its trees is
  /// subtracted, which favours genomes that it knows little about. 1 without any measurement.
  double ratio(const Genome& genome, std::span<const float> traits = {});

 private:
  void learn();

  RecentForest<double> ratios_;  // measured/predicted
  double median_ = 1;
  bool learnt_ = true;  // whether median and forest know all of them
};

}  // namespace evo
