#include "engine/search/latency_predictor.h"

#include <utility>

namespace evo {

struct PendingPrediction::State {
  std::function<bool()> ready;
  std::function<Prediction()> finish;  // none once it is there
  Prediction prediction;
};

PendingPrediction::PendingPrediction(Prediction prediction)
    : state_(std::make_shared<State>(State{{}, {}, std::move(prediction)})) {}

PendingPrediction::PendingPrediction(std::function<bool()> ready, std::function<Prediction()> finish)
    : state_(std::make_shared<State>(State{std::move(ready), std::move(finish), {}})) {}

bool PendingPrediction::ready() const {
  return !state_->finish || state_->ready();
}

const PendingPrediction::Prediction& PendingPrediction::get() const {
  if (state_->finish) {
    state_->prediction = state_->finish();
    state_->finish = nullptr;
  }
  return state_->prediction;
}

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
  return PendingPrediction(prediction(genome));
}

CachedPredictor::CachedPredictor(std::unique_ptr<LatencyPredictor> predictor) : predictor_(std::move(predictor)) {}

PendingPrediction CachedPredictor::begin(const Genome& genome) {
  std::string name = to_text(genome);
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(name), predictor_->begin(genome)).first->second;
}

}  // namespace evo
