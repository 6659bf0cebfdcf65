#include "population/results/recorded_families.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace evo {

std::vector<Recording> recorded_families(const std::vector<OutcomeRow>& outcomes) {
  struct Family {
    std::vector<std::string> genes;  ///< In the order of their first appearance.
    std::vector<RecordedEntry> entries;
  };
  std::map<std::string, Family> families;
  for (const OutcomeRow& one : outcomes) {
    Family& family = families[one.genome.family];
    for (const auto& [gene, allele] : one.genome.genes)
      if (std::ranges::find(family.genes, gene) == family.genes.end()) family.genes.push_back(gene);
    family.entries.push_back({.genes = {one.genome.genes.begin(), one.genome.genes.end()},
                              .latency_us = one.latency_us,
                              .verdict = one.verdict});
  }
  std::vector<Recording> recordings;
  for (const auto& [name, family] : families)
    recordings.push_back(make_recording(name, family.genes, {}, family.entries));
  return recordings;
}

std::vector<Space> recorded_spaces(const std::vector<OutcomeRow>& outcomes) {
  std::vector<Space> spaces;
  for (Recording& recording : recorded_families(outcomes)) {
    std::vector<Path> genomes;
    for (RecordedRow& row : recording.rows) genomes.push_back(std::move(row.alleles));
    spaces.emplace_back(std::move(recording.family), std::move(genomes));
  }
  return spaces;
}

}  // namespace evo
