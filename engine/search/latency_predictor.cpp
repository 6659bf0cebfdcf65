#include "engine/search/latency_predictor.h"

#include <utility>

namespace evo {

std::vector<PredictedLatency> LatencyPredictor::predict(const std::vector<Genome>& genomes) {
  std::vector<PendingPrediction> pending;
  for (const Genome& genome : genomes) pending.push_back(begin(genome));
  std::vector<PredictedLatency> predicted;
  for (const PendingPrediction& one : pending) {
    const std::optional<PredictedLatency>& prediction = one.get();
    if (!prediction) return {};
    predicted.push_back(*prediction);
  }
  return predicted;
}

PendingPrediction InstantPredictor::begin(const Genome& genome) {
  std::promise<std::optional<PredictedLatency>> promise;
  promise.set_value(prediction(genome));
  return promise.get_future().share();
}

CachedPredictor::CachedPredictor(std::unique_ptr<LatencyPredictor> predictor) : predictor_(std::move(predictor)) {}

PendingPrediction CachedPredictor::begin(const Genome& genome) {
  const auto [known, is_new] = known_.try_emplace(to_text(genome));
  if (is_new) known->second = predictor_->begin(genome);
  return known->second;
}

}  // namespace evo
