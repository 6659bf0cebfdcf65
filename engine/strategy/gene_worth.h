#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/space/space.h"

namespace evo {

/// A genome that was evaluated. No latency: it failed.
struct Tried {
  Genome genome;
  std::optional<double> latency_us;
};

/// The results with one allele.
struct AlleleWorth {
  Value allele;
  std::size_t tried = 0;
  std::size_t valid = 0;
  std::optional<double> best_us = {};
};

/// The effect of one gene of a family.
struct GeneWorth {
  std::string gene;
  std::vector<AlleleWorth> alleles = {};  ///< In the gene's order.
  /// Share of the differences in log latency that a forest, fitted to the valid genomes, ascribes to the gene. The
  /// shares of a family add up to 1, or are all 0.
  double importance = 0;
  /// Pairs of valid genomes that differ in this gene alone, and the geometric mean of slower over faster in them.
  std::size_t pairs = 0;
  double pair_ratio = 1;
};

/// By importance, the largest first. Genomes of other families and those that are not in the space are passed over.
std::vector<GeneWorth> gene_worths(const Space& space, const std::string& family, const std::vector<Tried>& tried);

}  // namespace evo
