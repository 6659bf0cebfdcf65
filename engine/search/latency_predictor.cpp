#include "engine/search/latency_predictor.h"

#include <set>
#include <utility>

namespace evo {

RememberedForesight::RememberedForesight(std::unique_ptr<Foresight> foresight)
    : foresight_(std::move(foresight)) {}

std::vector<Foretold> RememberedForesight::foretell(const std::vector<Genome>& genomes) {
  std::vector<std::string> texts;
  std::vector<Genome> unknown;
  std::set<std::string> asked;
  for (const Genome& genome : genomes) {
    texts.push_back(to_text(genome));
    if (!known_.contains(texts.back()) && asked.insert(texts.back()).second) unknown.push_back(genome);
  }
  std::vector<Foretold> answers;
  if (!unknown.empty()) answers = foresight_->foretell(unknown);
  if (answers.size() < unknown.size()) return {};
  for (std::size_t i = 0; i < unknown.size(); ++i) known_.emplace(to_text(unknown[i]), std::move(answers[i]));
  std::vector<Foretold> foretold;
  for (const std::string& text : texts) foretold.push_back(known_.at(text));
  return foretold;
}

}  // namespace evo
