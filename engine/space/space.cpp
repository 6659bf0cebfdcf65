#include "engine/space/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/space/diagram.h"
#include "engine/task/error_context.h"
#include "engine/task/scope.h"

namespace evo {
namespace {

// A gene that activates others can have many completions; neighbours list no more than this for one changed
// allele.
constexpr std::size_t kMaxCompletions = 64;

int index_of(const Gene& gene, const Value& allele) {
  const auto found = std::find(gene.alleles.begin(), gene.alleles.end(), allele);
  return found == gene.alleles.end() ? kInactive : static_cast<int>(found - gene.alleles.begin());
}

Path path_of(const Family& family, const Genome& genome) {
  Path path;
  for (const Gene& gene : family.genes) {
    const auto allele = genome.genes.find(gene.name);
    path.push_back(allele == genome.genes.end() ? kInactive : index_of(gene, allele->second));
  }
  return path;
}

// "smem_bytes=262144, smem_per_block=232448": what an expression read.
std::string values_read(const Expression& expression, const Bindings& scope) {
  std::string text;
  for (const std::string& name : expression.names()) {
    const auto value = scope.find(name);
    if (value == scope.end()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, expr::to_string(value->second));
  }
  return text;
}

std::optional<std::string> why_broken(const Constraint& constraint, const Bindings& scope) {
  try {
    if (constraint.condition.evaluate_bool(scope)) return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
  const std::string why = constraint.why.empty() ? "breaks a constraint" : constraint.why;
  return fmt::format("{}: '{}' does not hold for {}", why, constraint.condition.text(),
                     values_read(constraint.condition, scope));
}

// Whether every gene that is present is known and active, and every active gene is present.
std::optional<std::string> why_malformed(const Family& family, const Genome& genome, const Bindings& facts) {
  for (const auto& [name, allele] : genome.genes) {
    const Gene* gene = family.gene(name);
    if (!gene) return fmt::format("family {} has no gene '{}'", family.name, name);
    if (index_of(*gene, allele) == kInactive) {
      return fmt::format("gene {} cannot be '{}'", name, expr::to_string(allele));
    }
  }
  const Bindings scope = scope_of(family, genome, facts);
  for (const Gene& gene : family.genes) {
    const bool active = gene.when.evaluate_bool(scope);
    const bool present = genome.genes.contains(gene.name);
    if (active && !present) return fmt::format("gene {} is missing", gene.name);
    if (!active && present)
      return fmt::format("gene {} is present though '{}' does not hold", gene.name, gene.when.text());
  }
  return std::nullopt;
}

// The constraint that alone excludes every genome, where there is one.
const Constraint* excludes_all(const Family& family, const Bindings& facts,
                               const std::vector<Bindings>& specialisations) {
  for (const Constraint& constraint : family.constraints) {
    Family alone = family;
    alone.constraints = {constraint};
    try {
      if (Diagram(alone, facts, specialisations).size() == 0) return &constraint;
    } catch (const Error&) {
      continue;  // It has no value where another one excludes the genome.
    }
  }
  return nullptr;
}

// Why no genome of a family is legal: the constraint that no choice of genes can keep, where there is one.
std::string why_none(const Family& family, const Bindings& facts, const std::vector<Bindings>& specialisations) {
  const std::string none = fmt::format("{}: no genome of {} keeps all constraints", file_of(family), family.name);
  for (const Bindings& specialisation : specialisations) {
    const Bindings known = joined(facts, specialisation);
    for (const Constraint& constraint : family.constraints) {
      try {
        if (constraint.condition.evaluate_partially(known) != Value(false)) continue;
      } catch (const Error&) {
        continue;
      }
      return fmt::format("{}: {}", none, *why_broken(constraint, known));
    }
  }
  const Constraint* culprit = excludes_all(family, facts, specialisations);
  if (culprit == nullptr) return none;
  return fmt::format("{}: '{}' excludes every one{}", none, culprit->condition.text(),
                     culprit->why.empty() ? "" : fmt::format(" ({})", culprit->why));
}

}  // namespace

std::optional<std::string> why_illegal(const Family& family, const Genome& genome, const Bindings& facts,
                                       const std::vector<Bindings>& specialisations) {
  if (auto why = why_malformed(family, genome, facts)) return why;
  for (const Bindings& specialisation : specialisations) {
    const Bindings scope = scope_of(family, genome, joined(facts, specialisation));
    for (const Constraint& constraint : family.constraints) {
      if (auto why = why_broken(constraint, scope)) return why;
    }
  }
  return std::nullopt;
}

struct Space::Impl {
  std::vector<Family> families;
  std::vector<Diagram> diagrams;  // of the family at the same index
  Bindings facts;
  std::vector<Bindings> specialisations;

  std::size_t index_of(std::string_view name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < families.size(); ++i) {
      if (families[i].name == name) return i;
      names.push_back(families[i].name);
    }
    throw usage_error(fmt::format("no family '{}' in this space{}", name, suggestion(name, names)));
  }
};

Space::Space(std::vector<Family> families, const Bindings& facts, std::vector<Bindings> specialisations)
    : impl_(new Impl) {
  impl_->facts = facts;
  impl_->specialisations = specialisations.empty() ? std::vector<Bindings>{{}} : std::move(specialisations);
  std::string reasons;
  for (Family& family : families) {
    if (!may_serve(family, facts)) {
      reasons +=
          fmt::format("; {} requires {} ({})", family.name, family.legal.text(), values_read(family.legal, facts));
      continue;
    }
    Diagram diagram(family, facts, impl_->specialisations);
    if (diagram.size() == 0) {
      reasons += "; " + why_none(family, facts, impl_->specialisations);
      continue;
    }
    impl_->diagrams.push_back(std::move(diagram));
    impl_->families.push_back(std::move(family));
  }
  if (impl_->families.empty()) {
    throw usage_error("there is nothing to search" +
                      (reasons.empty() ? ": the task has no family" : ":" + reasons.substr(1)));
  }
}

Space::Space(Family family, std::vector<Path> genomes) : impl_(new Impl) {
  if (genomes.empty()) throw usage_error(fmt::format("{}: no genomes", family.name));
  impl_->specialisations = {{}};
  impl_->diagrams.push_back(Diagram(family, std::move(genomes)));
  impl_->families.push_back(std::move(family));
}

Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

const std::vector<Family>& Space::families() const {
  return impl_->families;
}
const Family& Space::family(std::string_view name) const {
  return impl_->families[impl_->index_of(name)];
}

std::uint64_t Space::size() const {
  std::uint64_t sum = 0;
  for (const Diagram& diagram : impl_->diagrams) sum = saturating_sum(sum, diagram.size());
  return sum;
}

std::uint64_t Space::size(std::string_view family) const {
  return impl_->diagrams[impl_->index_of(family)].size();
}

double Space::product_size(std::string_view family) const {
  double product = 1;
  for (const Gene& gene : this->family(family).genes) product *= static_cast<double>(gene.alleles.size());
  return product;
}

Genome Space::sample(Rng& rng) const {
  return genome(sample_point(rng));
}

Genome Space::sample(Rng& rng, std::string_view family) const {
  return genome(sample_point(rng, impl_->index_of(family)));
}

Genome Space::at(std::uint64_t index) const {
  return genome(point_at(index));
}

Point Space::sample_point(Rng& rng) const {
  if (size() < kSaturated) return point_at(rng.below(size()));
  double total = 0;
  for (const Diagram& diagram : impl_->diagrams) total += diagram.approximate_size();
  double drawn = rng.unit() * total;
  std::size_t chosen = 0;
  while (chosen + 1 < impl_->diagrams.size() && drawn >= impl_->diagrams[chosen].approximate_size()) {
    drawn -= impl_->diagrams[chosen++].approximate_size();
  }
  return sample_point(rng, chosen);
}

Point Space::sample_point(Rng& rng, std::size_t family) const {
  return {family, impl_->diagrams[family].sample(rng)};
}

Point Space::sample_point_evenly(Rng& rng, std::size_t family) const {
  return {family, impl_->diagrams[family].sample_evenly(rng)};
}

Point Space::point_at(std::uint64_t index) const {
  std::size_t family = 0;
  while (index >= impl_->diagrams[family].size()) index -= impl_->diagrams[family++].size();
  return {family, impl_->diagrams[family].at(index)};
}

Genome Space::genome(const Point& point) const {
  return genome_of(impl_->families[point.family], point.alleles);
}

Point Space::point(const Genome& genome) const {
  const std::size_t index = impl_->index_of(genome.family);
  return {index, path_of(impl_->families[index], genome)};
}

std::optional<std::string> Space::why_illegal(const Genome& genome) const {
  const auto found = std::find_if(impl_->families.begin(), impl_->families.end(),
                                  [&](const Family& family) { return family.name == genome.family; });
  if (found == impl_->families.end()) return fmt::format("no family '{}' in this space", genome.family);
  return evo::why_illegal(*found, genome, impl_->facts, impl_->specialisations);
}

bool Space::contains(const Point& point) const {
  return impl_->diagrams[point.family].contains(point.alleles);
}

std::vector<Genome> Space::neighbours(const Genome& genome, Step step) const {
  std::vector<Genome> all;
  for (const Gene& gene : family(genome.family).genes) {
    for (Genome& neighbour : neighbours(genome, gene.name, step)) all.push_back(std::move(neighbour));
  }
  return all;
}

std::vector<Genome> Space::neighbours(const Genome& genome, std::string_view gene, Step step) const {
  const Point point = this->point(genome);
  const std::vector<Gene>& genes = impl_->families[point.family].genes;
  const auto named = std::find_if(genes.begin(), genes.end(), [&](const Gene& g) { return g.name == gene; });
  std::vector<Genome> found;
  if (named == genes.end()) return found;
  for (const Point& neighbour : neighbours(point, static_cast<std::size_t>(named - genes.begin()), step))
    found.push_back(this->genome(neighbour));
  return found;
}

std::vector<Point> Space::neighbours(const Point& point, std::size_t gene, Step step) const {
  const Gene& changing = impl_->families[point.family].genes[gene];
  const int present = point.alleles[gene];
  std::vector<Point> found;
  if (present == kInactive) return found;
  const bool only_adjacent = step == Step::adjacent && is_ordered(changing);
  Path changed = point.alleles;
  for (int allele = 0; allele < static_cast<int>(changing.alleles.size()); ++allele) {
    if (allele == present || (only_adjacent && std::abs(allele - present) != 1)) continue;
    changed[gene] = allele;
    for (Path& legal : impl_->diagrams[point.family].matching(changed, kMaxCompletions))
      found.push_back({point.family, std::move(legal)});
  }
  return found;
}

Genome Space::complete(const Genome& wish, Rng& rng) const {
  return *complete(wish, {}, rng);
}

std::optional<Genome> Space::complete(const Genome& wish, const std::vector<std::string>& kept, Rng& rng) const {
  const Point point = this->point(wish);
  std::vector<bool> marked;
  for (const Gene& gene : impl_->families[point.family].genes)
    marked.push_back(std::find(kept.begin(), kept.end(), gene.name) != kept.end());
  const auto nearest = complete(point, marked, rng);
  if (!nearest) return std::nullopt;
  return genome(*nearest);
}

std::optional<Point> Space::complete(const Point& wish, const std::vector<bool>& kept, Rng& rng) const {
  const auto path = impl_->diagrams[wish.family].nearest(
      wish.alleles, kept.empty() ? std::vector<bool>(wish.alleles.size()) : kept, rng);
  if (!path) return std::nullopt;
  return Point{wish.family, *path};
}

}  // namespace evo
