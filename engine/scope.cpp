#include "engine/scope.h"

#include "engine/error.h"

namespace evo {

Bindings scope_of(const Family& family, const Genome& genome, const Bindings& known) {
  Bindings scope = known;
  for (const Gene& gene : family.genes) {
    const auto allele = genome.genes.find(gene.name);
    scope[gene.name] = allele == genome.genes.end() ? gene.alleles.front() : allele->second;
  }
  for (const Derived& derived : family.derived) {
    // A derived value counts where it is read: one that has no value here (it needs a parameter of the
    // launch, or divides by zero under a guard) stays unknown.
    try {
      if (auto value = derived.value.evaluate_partially(scope)) scope[derived.name] = std::move(*value);
    } catch (const Error&) {
      continue;
    }
  }
  return scope;
}

}  // namespace evo
