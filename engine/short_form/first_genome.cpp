#include "engine/short_form/first_genome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000;

class GenomeSearch {
 public:
  GenomeSearch(const std::string& file, const std::vector<ListedGene>& genes,
               std::span<const OwnConstraint> constraints, const Bindings& constants)
      : file_(file), genes_(genes), constraints_(constraints), known_(constants) {}

  bool finds() { return complete(0); }
  bool gave_up() const { return steps_ > kMostSteps; }
  const Bindings& known() const { return known_; }

 private:
  bool is_broken(const OwnConstraint& constraint) const {
    try {
      const auto decided = constraint.that.evaluate_partially(known_);
      return decided && !Expression::constant(*decided).evaluate_bool({});
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: {}: {}", file_, constraint.author, error.what()));
    }
  }

  bool complete(std::size_t number) {
    if (number == genes_.size()) return true;
    const auto& [name, values] = genes_[number];
    if (!values) throw usage_error(fmt::format("{}: gene '{}' has no values", file_, name));
    if (values->empty()) throw usage_error(fmt::format("{}: genes.{}: has no value", file_, name));
    for (const Value& value : *values) {
      if (++steps_ > kMostSteps) return false;
      known_[name] = value;
      const bool broken =
          std::ranges::any_of(constraints_, [&](const OwnConstraint& constraint) { return is_broken(constraint); });
      if (!broken && complete(number + 1)) return true;
    }
    known_.erase(name);
    return false;
  }

  const std::string& file_;
  const std::vector<ListedGene>& genes_;
  const std::span<const OwnConstraint> constraints_;
  Bindings known_;
  std::int64_t steps_ = 0;
};

}  // namespace

Bindings first_genome(const std::string& file, const std::vector<ListedGene>& genes,
                      const std::vector<OwnConstraint>& constraints, const Bindings& known) {
  GenomeSearch search(file, genes, constraints, known);
  if (!search.finds()) {
    for (const OwnConstraint& constraint : constraints)
      if (!search.gave_up() && !GenomeSearch(file, genes, {&constraint, 1}, known).finds())
        throw usage_error(fmt::format("{}: {}: no genome meets '{}'", file, constraint.author, constraint.that.text()));
    throw usage_error(
        fmt::format("{}: restrict: no genome meets it{}", file, search.gave_up() ? " among the first million" : ""));
  }
  Bindings genome;
  for (const ListedGene& gene : genes) genome[gene.name] = search.known().at(gene.name);
  return genome;
}

}  // namespace evo
