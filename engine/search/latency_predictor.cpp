#include "engine/search/latency_predictor.h"

#include <set>
#include <utility>

namespace evo {

CachedPredictor::CachedPredictor(std::unique_ptr<LatencyPredictor> predictor) : predictor_(std::move(predictor)) {}

std::vector<PredictedLatency> CachedPredictor::predict(const std::vector<Genome>& genomes) {
  const std::vector<Genome> unknown = unknown_among(genomes);
  std::vector<PredictedLatency> answers;
  if (!unknown.empty()) answers = predictor_->predict(unknown);
  if (answers.size() < unknown.size()) return {};
  for (std::size_t i = 0; i < unknown.size(); ++i) known_.emplace(to_text(unknown[i]), std::move(answers[i]));
  std::vector<PredictedLatency> predicted;
  for (const Genome& genome : genomes) predicted.push_back(known_.at(to_text(genome)));
  return predicted;
}

void CachedPredictor::begin(const std::vector<Genome>& genomes) {
  if (const std::vector<Genome> unknown = unknown_among(genomes); !unknown.empty()) predictor_->begin(unknown);
}

std::vector<Genome> CachedPredictor::unknown_among(const std::vector<Genome>& genomes) const {
  std::vector<Genome> unknown;
  std::set<std::string> seen;
  for (const Genome& genome : genomes) {
    std::string text = to_text(genome);
    if (!known_.contains(text) && seen.insert(std::move(text)).second) unknown.push_back(genome);
  }
  return unknown;
}

}  // namespace evo
