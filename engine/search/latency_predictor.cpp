#include "engine/search/latency_predictor.h"

#include <set>
#include <utility>

namespace evo {

CachedPredictor::CachedPredictor(std::unique_ptr<LatencyPredictor> predictor) : predictor_(std::move(predictor)) {}

std::vector<PredictedLatency> CachedPredictor::predict(const std::vector<Genome>& genomes) {
  std::vector<std::string> texts;
  std::vector<Genome> unknown;
  std::set<std::string> asked;
  for (const Genome& genome : genomes) {
    texts.push_back(to_text(genome));
    if (!known_.contains(texts.back()) && asked.insert(texts.back()).second) unknown.push_back(genome);
  }
  std::vector<PredictedLatency> answers;
  if (!unknown.empty()) answers = predictor_->predict(unknown);
  if (answers.size() < unknown.size()) return {};
  for (std::size_t i = 0; i < unknown.size(); ++i) known_.emplace(to_text(unknown[i]), std::move(answers[i]));
  std::vector<PredictedLatency> predicted;
  for (const std::string& text : texts) predicted.push_back(known_.at(text));
  return predicted;
}

}  // namespace evo
