#include "engine/task/scope.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace evo {

Bindings joined(const Bindings& a, const Bindings& b, const Bindings& c) {
  Bindings all = a;
  all.insert(b.begin(), b.end());
  all.insert(c.begin(), c.end());
  return all;
}

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

std::string explained(const std::string& error, const Family& family, const Bindings& scope) {
  for (const Derived& derived : family.derived) {
    const std::string unknown = fmt::format("unknown name '{}'", derived.name);
    const std::size_t at = error.find(unknown);
    if (at == std::string::npos || scope.contains(derived.name)) continue;
    try {
      derived.value.evaluate(scope);
    } catch (const Error& why) {
      // It may read another one, above it, that has none.
      return fmt::format("{}{} has no value: {}{}", error.substr(0, at), derived.name,
                         explained(why.what(), family, scope), error.substr(at + unknown.size()));
    }
  }
  return error;
}

}  // namespace evo
