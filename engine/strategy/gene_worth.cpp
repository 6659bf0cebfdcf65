#include "engine/strategy/gene_worth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/rng.h"
#include "engine/strategy/forest.h"

namespace evo {
namespace {

constexpr std::size_t kLeastForForest = 8;  ///< Valid genomes.
constexpr int kSwaps = 16;                  ///< For each genome and gene.

/// A valid genome.
struct Valid {
  Point point;
  double log_latency = 0;
};

void count_alleles(const Space& space, const std::string& family, const std::vector<Tried>& tried,
                   std::vector<GeneWorth>& worths) {
  for (const Tried& one : tried) {
    if (one.genome.family != family || !space.contains(one.genome)) continue;
    const Path alleles = space.point(one.genome).alleles;
    for (std::size_t gene = 0; gene < worths.size(); ++gene) {
      if (alleles[gene] == kInactive) continue;
      AlleleWorth& worth = worths[gene].alleles[static_cast<std::size_t>(alleles[gene])];
      ++worth.tried;
      if (!one.latency_us) continue;
      ++worth.valid;
      worth.best_us = std::min(worth.best_us.value_or(*one.latency_us), *one.latency_us);
    }
  }
}

std::vector<Valid> valid_of(const Space& space, const std::string& family, const std::vector<Tried>& tried) {
  std::vector<Valid> valid;
  for (const Tried& one : tried)
    if (one.genome.family == family && one.latency_us && space.contains(one.genome))
      valid.push_back({space.point(one.genome), std::log(*one.latency_us)});
  return valid;
}

/// How much a fitted forest's answer changes when a genome gets the allele that another one has of a gene.
void share_importance(const Space& space, const std::vector<Valid>& valid, std::vector<GeneWorth>& worths) {
  if (valid.size() < kLeastForForest) return;
  const Encoding encoding(space);
  std::vector<float> rows(valid.size() * encoding.columns());
  std::vector<float> targets;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    encoding.encode(valid[i].point, &rows[i * encoding.columns()]);
    targets.push_back(static_cast<float>(valid[i].log_latency));
  }
  Rng rng(1);
  Forest forest(encoding, {});
  forest.fit(rows, targets, rng);

  std::vector<float> row(encoding.columns());
  double all = 0;
  for (std::size_t gene = 0; gene < worths.size(); ++gene) {
    double& changed = worths[gene].importance;
    for (std::size_t i = 0; i < valid.size(); ++i) {
      Point swapped = valid[i].point;
      const double before = forest.predict(&rows[i * encoding.columns()]).mean;
      for (int swap = 0; swap < kSwaps; ++swap) {
        const int allele = valid[rng.below(valid.size())].point.alleles[gene];
        if (allele == kInactive || valid[i].point.alleles[gene] == kInactive) continue;
        swapped.alleles[gene] = allele;
        encoding.encode(swapped, row.data());
        const double difference = forest.predict(row.data()).mean - before;
        changed += difference * difference;
      }
    }
    all += changed;
  }
  for (GeneWorth& worth : worths) worth.importance = all > 0 ? worth.importance / all : 0;
}

void compare_pairs(const std::vector<Valid>& valid, std::vector<GeneWorth>& worths) {
  for (std::size_t gene = 0; gene < worths.size(); ++gene) {
    std::map<Path, std::vector<double>> alike;  // but for this gene
    for (const Valid& one : valid) {
      if (one.point.alleles[gene] == kInactive) continue;
      Path others = one.point.alleles;
      others[gene] = kInactive;
      alike[others].push_back(one.log_latency);
    }
    double differences = 0;
    for (const auto& [others, logs] : alike) {
      for (std::size_t a = 0; a < logs.size(); ++a)
        for (std::size_t b = a + 1; b < logs.size(); ++b, ++worths[gene].pairs)
          differences += std::abs(logs[a] - logs[b]);
    }
    if (worths[gene].pairs > 0) worths[gene].pair_ratio = std::exp(differences / double(worths[gene].pairs));
  }
}

}  // namespace

std::vector<GeneWorth> gene_worths(const Space& space, const std::string& family, const std::vector<Tried>& tried) {
  std::vector<GeneWorth> worths;
  for (const Gene& gene : space.family(family).genes) {
    worths.push_back({.gene = gene.name});
    for (const Value& allele : gene.alleles) worths.back().alleles.push_back({.allele = allele});
  }
  count_alleles(space, family, tried, worths);
  const std::vector<Valid> valid = valid_of(space, family, tried);
  share_importance(space, valid, worths);
  compare_pairs(valid, worths);
  std::ranges::stable_sort(worths, [](const GeneWorth& a, const GeneWorth& b) { return a.importance > b.importance; });
  return worths;
}

}  // namespace evo
