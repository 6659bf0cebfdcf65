#include "engine/space/variation.h"

#include <algorithm>

namespace evo {
namespace {

template <typename T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

/// The active genes of a genome that could take such a step.
std::vector<const Gene*> variable_genes(const Space& space, const Genome& genome, Space::Step step) {
  std::vector<const Gene*> genes;
  for (const Gene& gene : space.family(genome.family).genes) {
    if (genome.genes.contains(gene.name) && gene.alleles.size() > 1 && (step == Space::Step::any || is_ordered(gene)))
      genes.push_back(&gene);
  }
  return genes;
}

/// The alleles that one step leads to: all others, or those next to the present one.
std::vector<Value> other_alleles(const Gene& gene, const Value& present, Space::Step step) {
  const auto at = std::find(gene.alleles.begin(), gene.alleles.end(), present) - gene.alleles.begin();
  std::vector<Value> others;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(gene.alleles.size()); ++i) {
    if (i == at || (step == Space::Step::adjacent && std::abs(i - at) != 1)) continue;
    others.push_back(gene.alleles[static_cast<std::size_t>(i)]);
  }
  return others;
}

/// Changes one gene, and others only where the constraints demand it. Genes and alleles are tried in random order until
/// a legal genome has the change; the parent where none has.
Genome change_one(const Space& space, const Genome& parent, Rng& rng, Space::Step step) {
  std::vector<const Gene*> genes = variable_genes(space, parent, step);
  shuffle(genes, rng);
  for (const Gene* gene : genes) {
    std::vector<Value> alleles = other_alleles(*gene, parent.genes.at(gene->name), step);
    shuffle(alleles, rng);
    for (const Value& allele : alleles) {
      Genome wish = parent;
      wish.genes[gene->name] = allele;
      if (auto child = space.complete(wish, {gene->name}, rng)) return *child;
    }
  }
  return parent;
}

}  // namespace

Genome mutate_one(const Space& space, const Genome& parent, Rng& rng) {
  return change_one(space, parent, rng, Space::Step::any);
}

Genome step_neighbour(const Space& space, const Genome& parent, Rng& rng) {
  return change_one(space, parent, rng, Space::Step::adjacent);
}

Genome crossover(const Space& space, const Genome& a, const Genome& b, Rng& rng) {
  if (a.family != b.family) return mutate_one(space, a, rng);
  Genome wish = a;
  for (const auto& [name, allele] : b.genes) {
    if (!a.genes.contains(name) || rng.below(2) == 0) wish.genes[name] = allele;
  }
  return space.complete(wish, rng);
}

}  // namespace evo
