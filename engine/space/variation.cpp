#include "engine/space/variation.h"

#include <algorithm>
#include <functional>

namespace evo {
namespace {

using Accepts = std::function<bool(const Gene&)>;

bool any_gene(const Gene&) {
  return true;
}
bool is_number(const Gene& gene) {
  return gene.kind == Gene::Kind::number;
}
bool is_choice(const Gene& gene) {
  return gene.kind == Gene::Kind::slot || gene.kind == Gene::Kind::category;
}

template <typename T>
void shuffle(std::vector<T>& items, Rng& rng) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng.below(i)]);
}

// The active genes of a genome that could have another allele.
std::vector<const Gene*> variable_genes(const Space& space, const Genome& genome, const Accepts& accepts) {
  std::vector<const Gene*> genes;
  for (const Gene& gene : space.family(genome.family).genes) {
    if (genome.genes.contains(gene.name) && gene.alleles.size() > 1 && accepts(gene)) genes.push_back(&gene);
  }
  return genes;
}

// The alleles a gene may change to: all others, or those beside the present one.
std::vector<Value> other_alleles(const Gene& gene, const Value& present, Space::Step step) {
  const auto at = std::find(gene.alleles.begin(), gene.alleles.end(), present) - gene.alleles.begin();
  std::vector<Value> others;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(gene.alleles.size()); ++i) {
    if (i == at || (step == Space::Step::adjacent && std::abs(i - at) != 1)) continue;
    others.push_back(gene.alleles[static_cast<std::size_t>(i)]);
  }
  return others;
}

// Changes one gene for certain, others only where the constraints ask for it. The first change that any legal
// genome has, tried in random order.
Genome change_one(const Space& space, const Genome& parent, Rng& rng, const Accepts& accepts, Space::Step step) {
  std::vector<const Gene*> genes = variable_genes(space, parent, accepts);
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
  return change_one(space, parent, rng, any_gene, Space::Step::any);
}

Genome step_neighbour(const Space& space, const Genome& parent, Rng& rng) {
  return change_one(space, parent, rng, is_number, Space::Step::adjacent);
}

Genome swap_slot(const Space& space, const Genome& parent, Rng& rng) {
  return change_one(space, parent, rng, is_choice, Space::Step::any);
}

Genome mutate_several(const Space& space, const Genome& parent, Rng& rng) {
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<const Gene*> genes = variable_genes(space, parent, any_gene);
    if (genes.size() < 2) break;
    shuffle(genes, rng);
    genes.resize(std::min<std::size_t>(genes.size(), 2 + rng.below(3)));
    Genome wish = parent;
    std::vector<std::string> changed;
    for (const Gene* gene : genes) {
      const std::vector<Value> alleles = other_alleles(*gene, parent.genes.at(gene->name), Space::Step::any);
      wish.genes[gene->name] = alleles[rng.below(alleles.size())];
      changed.push_back(gene->name);
    }
    if (auto child = space.complete(wish, changed, rng)) return *child;
  }
  return mutate_one(space, parent, rng);
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
