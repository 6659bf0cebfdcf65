#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/task/genome.h"

namespace evo::cli {

/// The modelled latencies of one recorded space and the traits beside them, by genome. Recorded genomes may have
/// inactive genes; modelled ones have none.
class ModelledLatencies {
 public:
  /// `genome`: as to_text writes it.
  void add(const std::string& genome, PredictedLatency modelled);
  /// A genome's modelled latency; null: there is none. The family's name and inactive genes do not matter.
  const PredictedLatency* of(const Genome& genome) const;

 private:
  using Words = std::vector<std::string>;
  std::map<Words, std::map<Words, PredictedLatency>> by_genes_;  // "gene=allele", by the genes that are active
};

/// The latencies of files that `evo model --against --csv` wrote, by recorded space; those that could not be
/// modelled are left out. Throws usage_error, naming file and line, for anything else.
std::map<std::string, ModelledLatencies> read_modelled_latencies(const std::vector<std::string>& files);

}  // namespace evo::cli
