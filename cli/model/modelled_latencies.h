#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/genome.h"

namespace evo::cli {

/// Modelled latencies of one space. Recordings may have genes that are inactive in a genome; the model's
/// genomes do not.
class ModelledLatencies {
 public:
  /// `genome`: as to_text writes it.
  void add(const std::string& genome, double us);
  /// Of the genome, without regard to its family's name and to genes that are inactive.
  std::optional<double> of(const Genome& genome) const;

 private:
  using Words = std::vector<std::string>;
  std::map<Words, std::map<Words, double>> by_genes_;  // "gene=allele", by the genes that are active
};

/// The latencies of files that `evo model --against --csv` wrote, by recorded space; those that could not be
/// modelled are left out. Throws usage_error, naming file and line, for anything else.
std::map<std::string, ModelledLatencies> read_modelled_latencies(const std::vector<std::string>& files);

}  // namespace evo::cli
